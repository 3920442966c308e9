// Grammar files in the notation of llama.cpp (GBNF):
//
//     root  ::= item ("," item)*      # a comment
//     item  ::= [a-z]+ | "\"" [^"\n]{1,20} "\""
//
// A rule ends with its line, except within parentheses and after '|' or '::='. Names have letters, digits,
// '-' and '_'. The text is what `root` matches.
#pragma once

#include <string_view>

#include "llm/grammar/expression.h"

namespace voltpile::llm {

// Throws JobError "grammar: line N: ..." for what is broken, and names rules that are missing.
GrammarRules parse_gbnf(std::string_view text);

}  // namespace voltpile::llm
