// What becomes of an fp32 activation that fp16 cannot hold: infinite, or with a clamp fp16's largest number.
#pragma once

#include <limits>

namespace voltpile::llm {

// What is larger in magnitude is to become this, with its sign. NaN is not larger than anything, and stays.
constexpr float half_limit(bool clamp) {
    return clamp ? 65504.0F : std::numeric_limits<float>::infinity();
}

}  // namespace voltpile::llm
