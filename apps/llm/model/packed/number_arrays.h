// Arrays of numbers as packed matrices have them in their files.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "llm/model/weight_format.h"

namespace voltpile::llm {

constexpr bool is_finite_half(std::uint16_t half) {
    return (half & 0x7c00) != 0x7c00;
}

// Writes a number as fp16 and moves `out` behind it. Returns whether fp16 holds it.
inline bool put_half(float value, std::byte*& out) {
    const std::uint16_t half = half_from_float(value);
    std::memcpy(out, &half, sizeof half);
    out += sizeof half;
    return is_finite_half(half);
}

// Numbers of 4 or 8 bits in words of 32 bits (or 8), of two axes: `packed`, along which the numbers of a word
// lie, and `other`.
struct BitArray {
    const std::byte* data = nullptr;
    unsigned bits = 0;
    bool bytes = false;         // a word is one signed byte; otherwise 32 bits, unsigned
    bool packed_first = false;  // the words of one `packed` index are adjacent
    std::uint64_t stride = 0;   // words from one index of the slower axis to the next
    // The place of the i-th number in its word, from the lowest bits.
    std::array<std::uint8_t, 8> place = {0, 1, 2, 3, 4, 5, 6, 7};

    std::uint64_t per_word() const { return (bytes ? 8u : 32u) / bits; }

    // Returns the number, of signed bytes plus 128.
    int at(std::uint64_t packed, std::uint64_t other) const {
        const int log2 = std::countr_zero(per_word());
        const std::uint64_t index =
            packed_first ? (packed >> log2) * stride + other : other * stride + (packed >> log2);
        if (bytes) return static_cast<int>(data[index] ^ std::byte{0x80});
        std::uint32_t word = 0;
        std::memcpy(&word, data + 4 * index, sizeof word);
        return static_cast<int>(word >> (bits * place[packed & (per_word() - 1)]) & ((1u << bits) - 1));
    }
};

// Scales in F32, F16 or BF16.
struct FloatArray {
    const std::byte* data = nullptr;
    WeightFormat format = WeightFormat::F32;

    float at(std::uint64_t i) const {
        if (format == WeightFormat::F32) {
            float value = 0;
            std::memcpy(&value, data + 4 * i, sizeof value);
            return value;
        }
        std::uint16_t half = 0;
        std::memcpy(&half, data + 2 * i, sizeof half);
        if (format == WeightFormat::F16) return float_from_half(half);
        return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
    }
};

}  // namespace voltpile::llm
