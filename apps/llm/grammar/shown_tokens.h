// Finds special tokens by their names.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

// Returns the special tokens of a vocabulary that have one of these names.
std::vector<TokenId> special_tokens_named(const Tokenizer& tokenizer,
                                          std::span<const std::string_view> names);

}  // namespace voltpile::llm
