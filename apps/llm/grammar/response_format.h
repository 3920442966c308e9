// What a request, a JSON object, says of the form of its answer:
//   "response_format": {"type": "text"}, {"type": "json_object"} or
//                      {"type": "json_schema", "json_schema": {"name": "...", "schema": {...}}}
//   "regex": "..."     a regular expression that the whole answer matches
//   "grammar": "..."   a grammar, as in a grammar file
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "llm/grammar/grammar.h"

namespace voltpile::llm {

inline constexpr std::array<std::string_view, 3> kFormFields{"response_format", "regex", "grammar"};

// Returns the grammar that a request asks for; nothing if it asks for none. request: the whole request, with
// the properties of schemas in the order in which they are to be generated. Other fields are ignored. Throws
// JobError if a field is broken, or if there are several; whether the grammar itself is broken is known when
// it is compiled.
std::optional<GrammarSource> grammar_in_request(const nlohmann::ordered_json& request);

}  // namespace voltpile::llm
