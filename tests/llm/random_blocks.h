// Blocks of random weights in any quantized format.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "llm/model/synthetic_blocks.h"
#include "llm/ops/dequantize.h"

namespace voltpile::llm {

inline void put_half(std::byte* to, double value) {
    const std::uint16_t bits = half_from_float(static_cast<float>(value));
    std::memcpy(to, &bits, sizeof bits);
}

inline std::vector<float> weights_of(WeightFormat format, const std::vector<std::byte>& blocks) {
    std::vector<float> weights(blocks.size() / block_bytes(format) * block_size(format));
    dequantize_row(format, blocks.data(), static_cast<std::int64_t>(weights.size()), weights.data());
    return weights;
}

// Returns where a block has fp16 scales: a NaN there makes weights of a block of zeros NaN, elsewhere it is
// bits of finite numbers.
inline std::vector<std::size_t> places_of_halves(WeightFormat format) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i + 1 < block_bytes(format); ++i) {
        std::vector<std::byte> block(block_bytes(format));
        put_half(&block[i], std::nan(""));
        for (const float weight : weights_of(format, block))
            if (std::isnan(weight)) {
                places.push_back(i);
                break;
            }
    }
    return places;
}

// Sets the fp16 scales of random blocks: one, or a scale and what is added with it, for a mean of about 0.
inline void set_halves(WeightFormat format, double deviation, std::vector<std::byte>& blocks) {
    const std::vector<std::size_t> places = places_of_halves(format);
    const auto set = [&](std::size_t half, double value) {
        for (std::size_t at = places[half]; at < blocks.size(); at += block_bytes(format))
            put_half(&blocks[at], value);
    };
    const auto mean_with = [&](double first, double second) {
        set(0, first);
        if (places.size() > 1) set(1, second);
        double sum = 0;
        const std::vector<float> weights = weights_of(format, blocks);
        for (const float weight : weights) sum += weight;
        return sum / static_cast<double>(weights.size());
    };
    const double offset = places.size() > 1 ? -mean_with(1, 0) / mean_with(0, 1) : 0;
    mean_with(1, offset);
    double squares = 0;
    const std::vector<float> weights = weights_of(format, blocks);
    for (const float weight : weights) squares += static_cast<double>(weight) * weight;
    const double scale = deviation / std::sqrt(squares / static_cast<double>(weights.size()));
    set(0, scale);
    if (places.size() > 1) set(1, offset * scale);
}

// Returns `count` blocks with weights of about the standard deviation `deviation`.
inline std::vector<std::byte> random_blocks(WeightFormat format, std::uint64_t key, std::size_t count,
                                            double deviation) {
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
        if (format == WeightFormat::NF4 || format == WeightFormat::FP4) {
            const auto scale =
                static_cast<float>(deviation * (1 + static_cast<double>(random() % 256) / 256));
            std::memcpy(block, &scale, sizeof scale);
        }
        if (format == WeightFormat::UINT4 || format == WeightFormat::F8_E4M3) {
            make_blocks(format, key, b, 1, deviation, block);
            continue;
        }
        if (format == WeightFormat::IQ1_M) {  // the high nibbles of four words have the scale
            const std::uint16_t bits = half_from_float(static_cast<float>(deviation * 0.12));
            for (int i = 0; i < 4; ++i) {
                std::byte& high = block[49 + 2 * i];
                high = (high & std::byte{15}) | static_cast<std::byte>((bits >> 4 * i & 15) << 4);
            }
        }
    }
    if (format != WeightFormat::UINT4 && !places_of_halves(format).empty())
        set_halves(format, deviation, bytes);
    return bytes;
}

}  // namespace voltpile::llm
