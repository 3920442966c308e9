// Blocks of random weights in any quantized format.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "llm/model/synthetic_blocks.h"

namespace voltpile::llm {

// Returns `count` blocks with weights of about the standard deviation `deviation`.
inline std::vector<std::byte> random_blocks(WeightFormat format, std::uint64_t key, std::size_t count,
                                            double deviation) {
    struct Half {
        WeightFormat format;
        std::size_t offset;
        double value;  // relative to the deviation; all other bytes are random
    };
    static constexpr Half halves[] = {
        {WeightFormat::Q4_1, 0, 0.22},     {WeightFormat::Q4_1, 2, -1.6},   {WeightFormat::Q5_0, 0, 0.11},
        {WeightFormat::Q5_1, 0, 0.11},     {WeightFormat::Q5_1, 2, -1.7},   {WeightFormat::IQ4_NL, 0, 0.015},
        {WeightFormat::Q2_K, 80, 0.1},     {WeightFormat::Q2_K, 82, 0.15},  {WeightFormat::Q3_K, 108, 0.02},
        {WeightFormat::IQ4_XS, 0, 0.0008}, {WeightFormat::IQ1_S, 0, 0.12},  {WeightFormat::IQ2_XXS, 0, 0.018},
        {WeightFormat::IQ2_XS, 0, 0.018},  {WeightFormat::IQ2_S, 0, 0.018}, {WeightFormat::IQ3_XXS, 0, 0.006},
        {WeightFormat::IQ3_S, 0, 0.006},
    };
    std::vector<std::byte> bytes(count * block_bytes(format));
    if (format <= WeightFormat::Q6_K) {
        make_blocks(format, key, 0, count, deviation, bytes.data());
        return bytes;
    }
    std::mt19937_64 random(key);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    for (std::size_t b = 0; b < count; ++b) {
        std::byte* block = bytes.data() + b * block_bytes(format);
        if (format == WeightFormat::MXFP4) block[0] = static_cast<std::byte>(118 + random() % 4);
        if (format == WeightFormat::IQ1_M) {  // the high nibbles of four words have the scale
            const std::uint16_t bits = half_from_float(static_cast<float>(deviation * 0.12));
            for (int i = 0; i < 4; ++i) {
                std::byte& high = block[49 + 2 * i];
                high = (high & std::byte{15}) | static_cast<std::byte>((bits >> 4 * i & 15) << 4);
            }
        }
        for (const Half& half : halves) {
            if (half.format != format) continue;
            const std::uint16_t bits = half_from_float(static_cast<float>(deviation * half.value));
            std::memcpy(block + half.offset, &bits, sizeof bits);
        }
    }
    return bytes;
}

}  // namespace voltpile::llm
