// What a request, a JSON object, says of the form of its answer:
//   "response_format": {"type": "text"}, {"type": "json_object"} or
//                      {"type": "json_schema", "json_schema": {"name": "...", "schema": {...}}}
//   "regex": "..."     a regular expression that the whole answer matches
//   "grammar": "..."   a grammar, as in a grammar file
#pragma once

#include <optional>
#include <string_view>

#include "llm/grammar/grammar.h"

namespace voltpile::llm {

// Returns the grammar that a request asks for; nothing if it asks for none. object: the whole request as it
// was written, because the order of a schema's properties is the order in which they are generated. Fields
// that are not about this are ignored. Throws JobError if a field is broken, or if there are several; whether
// the grammar itself is broken is known when it is compiled.
std::optional<GrammarSource> grammar_in_request(std::string_view object);

}  // namespace voltpile::llm
