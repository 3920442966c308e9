// Regular expressions, in the syntax that JavaScript and Python share.
//
// Supported: literals, `.`, [classes], \d \w \s and their complements (ASCII, but \S excludes all white
// space), \n \t \r \f \v \0 \xHH \uHHHH \u{H...}, groups with and without names, |, * + ? {m} {m,} {,n}
// {m,n}, also lazy (which matches the same texts), and ^ and $ at the ends of alternatives. Look-around,
// back-references, word boundaries, Unicode properties and flags are refused.
#pragma once

#include <functional>
#include <string_view>

#include "llm/grammar/code_points.h"
#include "llm/grammar/expression.h"

namespace voltpile::llm {

// Spells one character of a set: utf8 or in_json_string.
using SpellCharacter = std::function<ExpressionPtr(const CodePoints&)>;

enum class RegexMatch {
    Whole,   // the whole text, as if the pattern stood between ^ and $
    Search,  // some part of the text, as JSON schemas have it
};

// Throws JobError "pattern '...': character N: ..." for what is broken or not supported.
ExpressionPtr parse_regex(std::string_view pattern, RegexMatch match, const SpellCharacter& spell);

}  // namespace voltpile::llm
