// Whether two models read a text alike, so that what they say of it can be compared.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

struct ModelReader {
    const Tokenizer& tokenizer;
    std::string name;             // for messages
    std::int64_t vocabulary = 0;  // length of a row of logits
};

// Throws JobError if the rows of logits have different lengths, a token both have stands for different
// texts, or the second makes other tokens of `text` than `tokens`, which are the first's.
void check_same_tokens(const ModelReader& a, const ModelReader& b, std::span<const TokenId> tokens,
                       std::string_view text);

}  // namespace voltpile::llm
