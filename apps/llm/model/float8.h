// Floating-point numbers of 8 bits in the format E4M3: a sign, 4 bits of exponent with a bias of 7, 3 of
// mantissa; subnormal numbers and NaN (all bits but the sign), no infinities. Source: "FP8 Formats for Deep
// Learning" (arXiv:2209.05433).
#pragma once

#include <cstdint>

#include "base/half.h"

namespace voltpile::llm {

constexpr bool is_float8_nan(std::uint8_t code) {
    return (code & 0x7f) == 0x7f;
}
// For a NaN: a number, 480 or -480. Moved to the places of fp16, whose bias is 15, the bits mean 2^-8 of the
// number, also if it is subnormal.
constexpr float float_from_float8(std::uint8_t code) {
    const int half = (code & 0x80) << 8 | (code & 0x7f) << 7;
    return 256 * float_from_half(static_cast<std::uint16_t>(half));
}

}  // namespace voltpile::llm
