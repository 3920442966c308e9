// JSON schemas (2020-12, and what draft 7 spells the same) as grammars. Every text of the grammar satisfies
// the schema; not every text that satisfies the schema is in the grammar:
// - properties come in the schema's order; optional ones may be left out
// - without additionalProperties there are no others; with it, they come last
// - without a type, the keywords decide: "properties" makes an object
// - strings with a pattern or a format spell each character in one way
//
// Supported: type (also a list), properties, required, additionalProperties, items, prefixItems, minItems,
// maxItems, minLength, maxLength, pattern (regex.h), format (string_format.h), minimum, maximum,
// exclusiveMinimum and exclusiveMaximum (integers), enum, const, anyOf, oneOf (if its alternatives exclude
// each other), allOf (merged), $ref, $defs, definitions. Annotations are ignored.
#pragma once

#include <string_view>

#include "llm/grammar/dfa.h"
#include "llm/grammar/expression.h"
#include "llm/grammar/json_text.h"

namespace voltpile::llm {

// Throws JobError "JSON schema: #/place: ..." for what is broken or not supported.
GrammarRules parse_json_schema(std::string_view text, WorkLimit& limit);

// Adds the rules of a schema to those of `json` and returns the expression of its values. Throws as above.
ExpressionPtr add_json_schema(JsonText& json, std::string_view text, WorkLimit& limit);

}  // namespace voltpile::llm
