#include "llm/model/synthetic_tokens.h"

#include <fmt/format.h>

namespace voltpile::llm {
namespace {

// Kinds of tokens in tokenizer.ggml.token_type.
constexpr std::int32_t kNormal = 1;
constexpr std::int32_t kUnknown = 2;
constexpr std::int32_t kControl = 3;
constexpr std::int32_t kByte = 6;

}  // namespace

SyntheticTokens synthetic_tokens(std::int64_t vocab) {
    SyntheticTokens all;
    all.texts = {"<unk>", "<s>", "</s>"};
    all.kinds = {kUnknown, kControl, kControl};
    for (int byte = 0; byte < 256; ++byte) {
        all.texts.push_back(fmt::format("<0x{:02X}>", byte));
        all.kinds.push_back(kByte);
    }
    while (static_cast<std::int64_t>(all.texts.size()) < vocab) {
        all.texts.push_back(fmt::format("\u2581w{}", all.texts.size()));
        all.kinds.push_back(kNormal);
    }
    for (std::size_t i = 0; i < all.texts.size(); ++i)
        all.scores.push_back(all.kinds[i] == kNormal ? -static_cast<float>(i) : 0.0f);
    return all;
}

}  // namespace voltpile::llm
