#include "llm/model/synthetic_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "llm/model/code_levels.h"
#include "llm/model/float8.h"

namespace voltpile::llm {
namespace {

// splitmix64 (Steele, Lea, Flood 2014) as a function of a counter.
std::uint64_t random_bits(std::uint64_t key, std::uint64_t counter) {
    std::uint64_t z = key + counter * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

float uniform(std::uint64_t bits) {  // [-1, 1)
    return static_cast<float>(static_cast<std::int64_t>(bits) >> 40) * 0x1p-23f;
}

// Rounds a number in the range of IEEE half precision to the nearest half.
std::uint16_t half_bits(double x) {
    constexpr int kFractionBits = 10;
    constexpr int kLeastExponent = -14;
    const int exponent = x == 0 ? kLeastExponent : std::max(std::ilogb(x), kLeastExponent);
    // Below 2^10 for subnormal numbers. A carry increments the exponent, as it should.
    const auto fraction = static_cast<int>(std::lrint(std::ldexp(std::abs(x), kFractionBits - exponent)));
    const int magnitude = fraction + ((exponent - kLeastExponent) << kFractionBits);
    return static_cast<std::uint16_t>(magnitude | (x < 0 ? 0x8000 : 0));
}

struct Generator {
    std::uint64_t key;
    std::uint64_t first_block;
    std::size_t count;
    std::byte* out;

    // make_block(random, block): random(i) returns the block's i-th 64 random bits.
    template <class MakeBlock>
    void each(std::size_t bytes, const MakeBlock& make_block) const {
        constexpr std::uint64_t kNumbersPerBlock = 32;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t counter = (first_block + i) * kNumbersPerBlock;
            make_block([&](std::uint64_t j) { return random_bits(key, counter + j); }, out + i * bytes);
        }
    }
};

template <class Random>
void fill(const Random& random, std::uint64_t first, std::byte* out, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 8) {
        const std::uint64_t bits = random(first + i / 8);
        std::memcpy(out + i, &bits, std::min<std::size_t>(8, bytes - i));
    }
}

void put(std::byte* out, std::uint16_t half) {
    std::memcpy(out, &half, sizeof half);
}

// Standard deviations of the uniform integers -128..127, 0..15, 0..31, 0..63: sqrt((n^2 - 1) / 12).
constexpr double kDeviation8 = 73.9;
constexpr double kDeviation4 = 4.61;
constexpr double kDeviation5 = 9.23;
constexpr double kDeviation6 = 18.47;
// Root mean square of the 6-bit scales 32..63, and of Q6_K's 64..127.
constexpr double kScale6 = 48.4;
constexpr double kScale8 = 97.3;

void make_f16(const Generator& generator, double deviation) {
    constexpr std::size_t kSteps = 4096;
    std::array<std::uint16_t, kSteps> table;  // uniform within +- sqrt(3) deviations
    for (std::size_t i = 0; i < kSteps; ++i)
        table[i] =
            half_bits(std::sqrt(3.0) * deviation * (2.0 * static_cast<double>(i) + 1 - kSteps) / kSteps);
    for (std::size_t i = 0; i < generator.count; ++i)
        put(generator.out + 2 * i, table[random_bits(generator.key, generator.first_block + i) >> 52]);
}

// d, 32 int8
void make_q8_0(const Generator& generator, double deviation) {
    const std::uint16_t d = half_bits(deviation / kDeviation8);
    generator.each(block_bytes(WeightFormat::Q8_0), [d](const auto& random, std::byte* out) {
        put(out, d);
        fill(random, 0, out + 2, 32);
    });
}

// d with a random sign, 32 nibbles
void make_nibbles(const Generator& generator, WeightFormat format, double d_of_block) {
    const std::uint16_t d = half_bits(d_of_block);
    generator.each(block_bytes(format), [d](const auto& random, std::byte* out) {
        put(out, static_cast<std::uint16_t>(d | (random(2) & 1) << 15));
        fill(random, 0, out + 2, 16);
    });
}

// Nibbles minus 8: their mean is -0.5, which the sign of d cancels.
void make_q4_0(const Generator& generator, double deviation) {
    make_nibbles(generator, WeightFormat::Q4_0, deviation / kDeviation4);
}

// d, 32 fifth bits, 32 nibbles: d times the quant minus 16, whose mean is -0.5, which the random sign of d
// cancels.
void make_q5_0(const Generator& generator, double deviation) {
    const std::uint16_t d = half_bits(deviation / kDeviation5);
    generator.each(block_bytes(WeightFormat::Q5_0), [d](const auto& random, std::byte* out) {
        put(out, static_cast<std::uint16_t>(d | (random(3) & 1) << 15));
        fill(random, 0, out + 2, 20);
    });
}

// d, m, 32 fifth bits, 32 nibbles: d times the quant plus m, which cancels its mean.
void make_q5_1(const Generator& generator, double deviation) {
    const std::uint16_t d = half_bits(deviation / kDeviation5);
    const std::uint16_t m = half_bits(-15.5 * deviation / kDeviation5);
    generator.each(block_bytes(WeightFormat::Q5_1), [d, m](const auto& random, std::byte* out) {
        put(out, d);
        put(out + 2, m);
        fill(random, 0, out + 4, 20);
    });
}

// The 12 bytes of 6-bit scales and minima of Q4_K and Q5_K, with all eight minima equal to the scales, 32
// to 63.
void put_scales(std::uint64_t bits, std::byte* out) {
    for (int j = 0; j < 4; ++j) {
        const auto low = static_cast<unsigned>(bits >> (5 * j) & 31) | 32;        // scale of sub-block j
        const auto high = static_cast<unsigned>(bits >> (20 + 5 * j) & 31) | 32;  // of sub-block j + 4
        out[j] = out[j + 4] = static_cast<std::byte>(low | (high >> 4) << 6);
        out[j + 8] = static_cast<std::byte>((high & 15) | (high & 15) << 4);
    }
}

// d, dmin, scales, quants: w = d * scale * q - dmin * minimum; dmin is the mean of q times d.
void make_q4_or_q5_k(const Generator& generator, WeightFormat format, double deviation) {
    const bool five = format == WeightFormat::Q5_K;
    const double step = deviation / ((five ? kDeviation5 : kDeviation4) * kScale6);
    const std::uint16_t d = half_bits(step);
    const std::uint16_t dmin = half_bits(step * (five ? 15.5 : 7.5));
    const std::size_t bytes = block_bytes(format);
    generator.each(bytes, [=](const auto& random, std::byte* out) {
        put(out, d);
        put(out + 2, dmin);
        put_scales(random(0), out + 4);
        fill(random, 1, out + 16, bytes - 16);
    });
}

// 192 bytes of quants (w = d * scale * (q - 32)), 16 scales, d. The mean of q - 32 is -0.5, which the random
// sign of the scales cancels.
void make_q6_k(const Generator& generator, double deviation) {
    const std::uint16_t d = half_bits(deviation / (kDeviation6 * kScale8));
    generator.each(block_bytes(WeightFormat::Q6_K), [d](const auto& random, std::byte* out) {
        fill(random, 0, out, 192);
        for (int j = 0; j < 16; ++j) {
            const std::uint64_t bits = random(24 + static_cast<std::uint64_t>(j) / 8) >> (8 * (j % 8));
            const int magnitude = 64 + static_cast<int>(bits & 63);
            out[192 + j] =
                static_cast<std::byte>(static_cast<std::int8_t>(bits & 64 ? -magnitude : magnitude));
        }
        put(out + 208, d);
    });
}

// Root mean squares of the values of IQ4's 16 codes, of the integers -4 to 3, and of the scales 16 to 31 of
// IQ4_XS and Q3_K. Random signs of scales cancel the means.
constexpr double kSquareIq4 = 67.44;
constexpr double kSquare3 = 2.345;
constexpr double kScale5 = 23.95;

// Returns a scale as it is stored, 32 more, from 5 random bits.
unsigned signed_scale(std::uint64_t bits) {
    const auto magnitude = static_cast<unsigned>(bits & 15) | 16;
    return (bits & 16) != 0 ? 32 - magnitude : 32 + magnitude;
}

void make_iq4_nl(const Generator& generator, double deviation) {
    make_nibbles(generator, WeightFormat::IQ4_NL, deviation / kSquareIq4);
}

// d, 8 scales of 6 bits: the high bits, then the low ones; 256 codes
void make_iq4_xs(const Generator& generator, double deviation) {
    const std::uint16_t d = half_bits(deviation / (kSquareIq4 * kScale5));
    generator.each(block_bytes(WeightFormat::IQ4_XS), [d](const auto& random, std::byte* out) {
        put(out, d);
        unsigned high = 0;
        std::memset(out + 4, 0, 4);
        for (int part = 0; part < 8; ++part) {
            const unsigned scale = signed_scale(random(0) >> (5 * part));
            high |= (scale >> 4) << (2 * part);
            out[4 + part / 2] |= static_cast<std::byte>((scale & 15) << (part % 2 * 4));
        }
        put(out + 2, static_cast<std::uint16_t>(high));
        fill(random, 1, out + 8, 128);
    });
}

// Third bits and bit pairs of the quants, 16 scales of 6 bits: the low bits, then the high ones; d
void make_q3_k(const Generator& generator, double deviation) {
    const std::uint16_t d = half_bits(deviation / (kSquare3 * kScale5));
    generator.each(block_bytes(WeightFormat::Q3_K), [d](const auto& random, std::byte* out) {
        fill(random, 2, out, 96);
        std::byte* packed = out + 96;
        std::memset(packed, 0, 12);
        for (int k = 0; k < 16; ++k) {
            const unsigned scale = signed_scale(random(static_cast<std::uint64_t>(k) / 8) >> (5 * (k % 8)));
            packed[k % 8] |= static_cast<std::byte>((scale & 15) << (k / 8 * 4));
            packed[8 + k % 4] |= static_cast<std::byte>((scale >> 4) << (k / 4 * 2));
        }
        put(out + 108, d);
    });
}

// 16 scales (8 to 15, of root mean square 11.73) with equal minima, 256 quants (0 to 3, of deviation 1.118),
// d, dmin, which is the mean of the quants times d.
void make_q2_k(const Generator& generator, double deviation) {
    const double step = deviation / (1.118 * 11.73);
    const std::uint16_t d = half_bits(step), dmin = half_bits(1.5 * step);
    generator.each(block_bytes(WeightFormat::Q2_K), [d, dmin](const auto& random, std::byte* out) {
        for (int k = 0; k < 16; ++k) {
            const auto scale = static_cast<unsigned>(random(0) >> (3 * k) & 7) | 8;
            out[k] = static_cast<std::byte>(scale | scale << 4);
        }
        fill(random, 1, out + 16, 64);
        put(out + 80, d);
        put(out + 82, dmin);
    });
}

// Exponent, 32 codes of E2M1, whose root mean square is 2.93.
void make_mxfp4(const Generator& generator, double deviation) {
    const auto exponent = static_cast<std::byte>(127 + std::lround(std::log2(deviation / 2.93)));
    generator.each(block_bytes(WeightFormat::MXFP4), [exponent](const auto& random, std::byte* out) {
        out[0] = exponent;
        fill(random, 0, out + 1, 16);
    });
}

// d fp32 with a random sign, 64 codes
void make_levels(const Generator& generator, WeightFormat format, const CodeLevels& levels,
                 double deviation) {
    double squares = 0;
    for (const float level : levels.of_code) squares += static_cast<double>(level) * level / 16;
    const auto d = static_cast<float>(deviation / std::sqrt(squares));
    generator.each(block_bytes(format), [d](const auto& random, std::byte* out) {
        const float scale = (random(4) & 1) != 0 ? -d : d;
        std::memcpy(out, &scale, sizeof scale);
        fill(random, 0, out + 4, 32);
    });
}

// d, z from 1 to 16, 16 bytes of nibbles: d times the sum of two uniform numbers, of 16 values each
void make_uint4(const Generator& generator, double deviation) {
    const std::uint16_t d = half_bits(deviation / std::sqrt((16 * 16 - 1) / 6.0 + 1));
    generator.each(block_bytes(WeightFormat::UINT4), [d](const auto& random, std::byte* out) {
        put(out, static_cast<std::uint16_t>(d | (random(0) & 1) << 15));
        put(out + 2, half_bits(static_cast<double>(1 + (random(0) >> 1) % 16)));
        fill(random, 1, out + 4, 16);
    });
}

// d fp32 with a random sign, 64 codes, none of them NaN
void make_float8(const Generator& generator, double deviation) {
    double squares = 0;
    for (int code = 0; code < 256; ++code) {
        const auto bits =
            static_cast<std::uint8_t>(is_float8_nan(static_cast<std::uint8_t>(code)) ? code - 1 : code);
        squares += std::pow(float_from_float8(bits), 2) / 256;
    }
    const auto d = static_cast<float>(deviation / std::sqrt(squares));
    generator.each(block_bytes(WeightFormat::F8_E4M3), [d](const auto& random, std::byte* out) {
        const float scale = (random(8) & 1) != 0 ? -d : d;
        std::memcpy(out, &scale, sizeof scale);
        fill(random, 0, out + 4, 64);
        for (std::byte* code = out + 4; code < out + 68; ++code)
            if (is_float8_nan(static_cast<std::uint8_t>(*code))) *code ^= std::byte{1};
    });
}

// Blocks of d, random bits, and scales in the upper half of their range: `masks` sets their highest bit in
// every `stride` bytes from `scales` to the end of the block.
struct CodebookLayout {
    WeightFormat format;
    double square;  // root mean square of the weights for d = 1: of the scales times that of the grid
    std::size_t scales, stride;
    std::byte mask;
};
// Fields of the formats: ops/codebooks/codebook_block.h. Root mean squares of the scales: 12.217 = that
// of 8.5 to 15.5, 24.434 of 17 to 31 and 12.207 of 9 to 15 in steps of 2.
constexpr CodebookLayout kCodebooks[] = {{WeightFormat::IQ1_S, 12.207 * 6.2472 / 8, 35, 2, std::byte{0x40}},
                                         {WeightFormat::IQ2_XXS, 12.217 / 4 * 23.118, 9, 8, std::byte{0x80}},
                                         {WeightFormat::IQ2_XS, 12.217 / 4 * 24.217, 66, 1, std::byte{0x88}},
                                         {WeightFormat::IQ2_S, 12.217 / 4 * 24.430, 74, 1, std::byte{0x88}},
                                         {WeightFormat::IQ3_XXS, 12.217 / 2 * 30.849, 69, 4, std::byte{0x80}},
                                         {WeightFormat::IQ3_S, 24.434 * 7.5942, 106, 1, std::byte{0x88}}};

// Signs are random, and so is that of d, which cancels the mean of IQ1's grid.
void make_codebook(const Generator& generator, const CodebookLayout& layout, double deviation) {
    const std::uint16_t d = half_bits(deviation / layout.square);
    const std::size_t bytes = block_bytes(layout.format);
    generator.each(bytes, [&, d](const auto& random, std::byte* out) {
        put(out, static_cast<std::uint16_t>(d | (random(0) & 1) << 15));
        fill(random, 1, out + 2, bytes - 2);
        for (std::size_t at = layout.scales; at < bytes; at += layout.stride) out[at] |= layout.mask;
    });
}

}  // namespace

std::uint64_t tensor_key(std::uint64_t seed, std::string_view tensor_name) {
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (const char c : tensor_name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return random_bits(hash, seed);
}

void make_blocks(WeightFormat format, std::uint64_t key, std::uint64_t first_block, std::size_t count,
                 double deviation, std::byte* out) {
    const Generator generator{key, first_block, count, out};
    switch (format) {
        case WeightFormat::F32:
            return make_vector(key, first_block, count, 0, static_cast<float>(std::sqrt(3.0) * deviation),
                               out);
        case WeightFormat::F16:
            return make_f16(generator, deviation);
        case WeightFormat::Q8_0:
            return make_q8_0(generator, deviation);
        case WeightFormat::Q4_0:
            return make_q4_0(generator, deviation);
        case WeightFormat::Q5_0:
            return make_q5_0(generator, deviation);
        case WeightFormat::Q5_1:
            return make_q5_1(generator, deviation);
        case WeightFormat::Q4_K:
        case WeightFormat::Q5_K:
            return make_q4_or_q5_k(generator, format, deviation);
        case WeightFormat::Q6_K:
            return make_q6_k(generator, deviation);
        case WeightFormat::IQ4_NL:
            return make_iq4_nl(generator, deviation);
        case WeightFormat::IQ4_XS:
            return make_iq4_xs(generator, deviation);
        case WeightFormat::Q3_K:
            return make_q3_k(generator, deviation);
        case WeightFormat::Q2_K:
            return make_q2_k(generator, deviation);
        case WeightFormat::MXFP4:
            return make_mxfp4(generator, deviation);
        case WeightFormat::NF4:
            return make_levels(generator, format, nf4_levels, deviation);
        case WeightFormat::FP4:
            return make_levels(generator, format, fp4_levels, deviation);
        case WeightFormat::UINT4:
            return make_uint4(generator, deviation);
        case WeightFormat::F8_E4M3:
            return make_float8(generator, deviation);
        default:
            break;
    }
    for (const CodebookLayout& layout : kCodebooks)
        if (layout.format == format) return make_codebook(generator, layout, deviation);
    throw std::invalid_argument("no synthetic weights in " + std::string(name(format)));
}

void make_vector(std::uint64_t key, std::uint64_t first, std::size_t count, float mean, float spread,
                 std::byte* out) {
    for (std::size_t i = 0; i < count; ++i) {
        const float value = mean + spread * uniform(random_bits(key, first + i));
        std::memcpy(out + i * sizeof value, &value, sizeof value);
    }
}

}  // namespace voltpile::llm
