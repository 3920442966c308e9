// The tokenizer of synthetic models: every byte is a token, and words fill the vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltpile::llm {

// Values of the keys tokenizer.ggml.tokens, .scores and .token_type.
struct SyntheticTokens {
    std::vector<std::string> texts;
    std::vector<float> scores;
    std::vector<std::int32_t> kinds;
};

SyntheticTokens synthetic_tokens(std::int64_t vocab);

}  // namespace voltpile::llm
