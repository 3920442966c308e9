// The list of all families of models.
#include <array>

#include "llm/model/model_family.h"

namespace voltpile::llm {

extern const ModelFamily kLlama, kMistral, kQwen2, kQwen3;

std::span<const ModelFamily* const> all_families() {
    static constexpr std::array kFamilies = {&kLlama, &kMistral, &kQwen2, &kQwen3};
    return kFamilies;
}

}  // namespace voltpile::llm
