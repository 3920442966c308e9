// Compares the vocabularies of two models.
#pragma once

#include <string>

#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

// Returns the first token that stands for different texts, as `token 5 is "the" and "a"`; empty if there is
// none. Compares normal tokens only, and only those that both have.
std::string differing_token(const Tokenizer& a, const Tokenizer& b);

// Returns the number of tokens up to the last normal one. Models pad their vocabulary with others.
std::size_t normal_tokens(const Tokenizer& tokenizer);

}  // namespace voltpile::llm
