// The list of all families of models.
#include <array>

#include "llm/model/model_family.h"

namespace voltpile::llm {

extern const ModelFamily kGemma2, kGemma3, kGlm4, kGlm4Moe, kGranite, kLlama, kMistral, kOlmo2, kPhi3, kQwen2,
    kQwen3, kSmolLm3;
extern const ModelFamily kDeepSeek2, kDeepSeek3;
extern const ModelFamily kGptOss, kMixtral, kQwen2Moe, kQwen3Moe, kOlmoe;

std::span<const ModelFamily* const> all_families() {
    static constexpr std::array kFamilies = {&kLlama,   &kMistral,   &kQwen2,     &kQwen3,    &kSmolLm3,
                                             &kGranite, &kOlmo2,     &kPhi3,      &kGlm4,     &kGemma2,
                                             &kGemma3,  &kMixtral,   &kQwen2Moe,  &kQwen3Moe, &kOlmoe,
                                             &kGlm4Moe, &kDeepSeek2, &kDeepSeek3, &kGptOss};
    return kFamilies;
}

}  // namespace voltpile::llm
