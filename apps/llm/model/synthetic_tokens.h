// The made-up tokenizer of synthetic models: every byte is a token, and words fill the vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltpile::llm {

struct SyntheticTokens {  // as tokenizer.ggml.* has them
    std::vector<std::string> texts;
    std::vector<float> scores;
    std::vector<std::int32_t> kinds;
};

SyntheticTokens synthetic_tokens(std::int64_t vocab);

}  // namespace voltpile::llm
