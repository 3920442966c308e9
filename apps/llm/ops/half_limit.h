// The bound that is applied to fp32 activations before they are converted to fp16.
#pragma once

#include <limits>

namespace voltpile::llm {

// Returns the largest magnitude that the conversion keeps: fp16's largest finite number with a clamp, and
// otherwise infinity, so that larger activations overflow. Callers replace larger magnitudes by this value,
// keep the sign, and leave NaN unchanged.
constexpr float half_limit(bool clamp) {
    return clamp ? 65504.0F : std::numeric_limits<float>::infinity();
}

}  // namespace voltpile::llm
