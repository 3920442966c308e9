// Fits blocks of 256 weights in parts with scales that are integers times a scale of the block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "llm/quantize/scale_fit.h"

namespace voltpile::llm {

inline constexpr std::size_t kSuperBlock = 256;

// w = (d * scale[part]) * q - dmin * min[part]. d and dmin: rounded to fp16.
struct SuperBlock {
    float d = 0;
    float dmin = 0;
    std::array<int, 16> scale{};
    std::array<int, 16> min{};
    std::array<int, kSuperBlock> q{};
};

// x, importance: 256 numbers. parts: 8 or 16. Scales are in `scales`, integers in `range`; dmin is 0.
SuperBlock fit_symmetric(const float* x, const float* importance, std::size_t parts,
                         const IntegerRange& range, const IntegerRange& scales);

// Integers from 0 to most, scales and minima from 0 to most_scale.
SuperBlock fit_with_minima(const float* x, const float* importance, std::size_t parts, int most,
                           int most_scale);

}  // namespace voltpile::llm
