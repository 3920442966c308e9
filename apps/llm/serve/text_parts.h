#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "llm/serve/field_reader.h"

namespace voltpile::llm {

// Returns the text of a field that is a text, or a list of parts {"type": one of `types`, "text": ...}. path:
// of the reader's object, for messages. Throws ApiError for a missing field and for parts that are not text.
std::string text_of_parts(FieldReader& fields, std::string_view name, const std::string& path,
                          std::initializer_list<std::string_view> types);

}  // namespace voltpile::llm
