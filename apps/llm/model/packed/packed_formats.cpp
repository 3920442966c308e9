#include <array>

#include "llm/model/packed/packed_format.h"

namespace voltpile::llm {

extern const PackedFormat kAwq, kBitsandbytes, kFloat8, kGptq, kIntegers, kMxfp4Stacks, kPackedIntegers;

std::span<const PackedFormat* const> packed_formats() {
    static constexpr std::array kFormats = {&kGptq,   &kAwq,          &kPackedIntegers, &kIntegers,
                                            &kFloat8, &kBitsandbytes, &kMxfp4Stacks};
    return kFormats;
}

}  // namespace voltpile::llm
