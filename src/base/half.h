// Converts IEEE half precision numbers, as bits, on the host.
#pragma once

#include <bit>
#include <cstdint>

namespace voltpile {

constexpr float float_from_half(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
    const std::uint32_t magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00)  // infinity or NaN
        return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude < 0x400)  // subnormal: an integer times 2^-24
        return std::bit_cast<float>(sign |
                                    std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f));
    return std::bit_cast<float>(sign | ((magnitude << 13) + ((127 - 15) << 23)));
}

// Rounds to nearest, ties to even.
constexpr std::uint16_t half_from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
    const std::uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN
    if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and above: infinity
    if (magnitude < 0x38800000) {  // below 2^-14: the addition rounds to multiples of 2^-24
        const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
        return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) - 0x3f000000);
    }
    const std::uint32_t odd = magnitude >> 13 & 1;
    return sign | static_cast<std::uint16_t>((magnitude - ((127 - 15) << 23) + 0xfff + odd) >> 13);
}

}  // namespace voltpile
