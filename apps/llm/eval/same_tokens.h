// Checks that two models encode a text as the same tokens, so that their scores can be compared.
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

// Throws JobError if the vocabularies differ in size, if a token stands for different texts, or if the second
// model does not encode `text` as `tokens`, which is the first model's encoding.
void check_same_tokens(const ModelReader& a, const ModelReader& b, std::span<const TokenId> tokens,
                       std::string_view text);

}  // namespace voltpile::llm
