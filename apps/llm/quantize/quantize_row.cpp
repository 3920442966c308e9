#include "llm/quantize/quantize_row.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/half.h"
#include "llm/quantize/pack_iq4.h"
#include "llm/quantize/pack_super_block.h"
#include "llm/quantize/scale_fit.h"

namespace voltpile::llm {
namespace {

constexpr std::size_t kBlock = 32;

void put_half(float value, std::uint8_t* out) {
    const std::uint16_t bits = half_from_float(value);
    std::memcpy(out, &bits, sizeof bits);
}

float half_of(float value) {
    return float_from_half(half_from_float(value));
}

void f32(const float* x, const float*, std::uint8_t* out) {
    std::memcpy(out, x, sizeof *x);
}
void f16(const float* x, const float*, std::uint8_t* out) {
    put_half(*x, out);
}
void bf16(const float* x, const float*, std::uint8_t* out) {  // to nearest, ties to even
    const auto bits = std::bit_cast<std::uint32_t>(*x);
    const auto high = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    std::memcpy(out, &high, sizeof high);
}

void q8_0(const float* x, const float*, std::uint8_t* out) {
    float largest = 0;
    for (std::size_t i = 0; i < kBlock; ++i) largest = std::max(largest, std::abs(x[i]));
    const float d = half_of(largest / 127);
    put_half(d, out);
    for (std::size_t i = 0; i < kBlock; ++i)
        out[2 + i] =
            std::bit_cast<std::uint8_t>(static_cast<std::int8_t>(nearest_integer(x[i], d, 0, {-127, 127})));
}

using Integers = std::array<int, kBlock>;

// Weight i has its low four bits in byte i % 16, in the low nibble for i < 16.
void put_nibbles(const Integers& q, std::uint8_t* out) {
    for (std::size_t i = 0; i < kBlock / 2; ++i)
        out[i] = static_cast<std::uint8_t>((q[i] & 15) | (q[i + kBlock / 2] & 15) << 4);
}

void put_fifth_bits(const Integers& q, std::uint8_t* out) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < kBlock; ++i) bits |= static_cast<std::uint32_t>(q[i] >> 4 & 1) << i;
    std::memcpy(out, &bits, sizeof bits);
}

// Q4_0 and Q5_0: w = d (q - half)
float fit_block(const float* x, const float* importance, int half, Integers& q) {
    const IntegerRange range{-half, half - 1};
    const float d = half_of(fit_scale({x, importance, kBlock}, range));
    for (std::size_t i = 0; i < kBlock; ++i) q[i] = d == 0 ? half : nearest_integer(x[i], d, 0, range) + half;
    return d;
}

// Q4_1 and Q5_1: w = d q + m
AffineFit fit_affine_block(const float* x, const float* importance, int most, Integers& q) {
    AffineFit fit = fit_affine({x, importance, kBlock}, most, 0);
    fit = {half_of(fit.scale), half_of(fit.offset)};
    for (std::size_t i = 0; i < kBlock; ++i) q[i] = nearest_integer(x[i], fit.scale, fit.offset, {0, most});
    return fit;
}

void q4_0(const float* x, const float* importance, std::uint8_t* out) {
    Integers q;
    put_half(fit_block(x, importance, 8, q), out);
    put_nibbles(q, out + 2);
}

void q5_0(const float* x, const float* importance, std::uint8_t* out) {
    Integers q;
    put_half(fit_block(x, importance, 16, q), out);
    put_fifth_bits(q, out + 2);
    put_nibbles(q, out + 6);
}

void q4_1(const float* x, const float* importance, std::uint8_t* out) {
    Integers q;
    const AffineFit fit = fit_affine_block(x, importance, 15, q);
    put_half(fit.scale, out);
    put_half(fit.offset, out + 2);
    put_nibbles(q, out + 4);
}

void q5_1(const float* x, const float* importance, std::uint8_t* out) {
    Integers q;
    const AffineFit fit = fit_affine_block(x, importance, 31, q);
    put_half(fit.scale, out);
    put_half(fit.offset, out + 2);
    put_fifth_bits(q, out + 4);
    put_nibbles(q, out + 8);
}

using BlockFunction = void (*)(const float* x, const float* importance, std::uint8_t* out);

BlockFunction block_function(WeightFormat format) {
    switch (format) {
        case WeightFormat::F32:
            return f32;
        case WeightFormat::F16:
            return f16;
        case WeightFormat::BF16:
            return bf16;
        case WeightFormat::Q8_0:
            return q8_0;
        case WeightFormat::Q4_0:
            return q4_0;
        case WeightFormat::Q4_1:
            return q4_1;
        case WeightFormat::Q5_0:
            return q5_0;
        case WeightFormat::Q5_1:
            return q5_1;
        case WeightFormat::Q2_K:
            return pack_q2_k;
        case WeightFormat::Q3_K:
            return pack_q3_k;
        case WeightFormat::Q4_K:
            return pack_q4_k;
        case WeightFormat::Q5_K:
            return pack_q5_k;
        case WeightFormat::Q6_K:
            return pack_q6_k;
        case WeightFormat::IQ4_NL:
            return pack_iq4_nl;
        case WeightFormat::IQ4_XS:
            return pack_iq4_xs;
        default:
            return nullptr;
    }
}

}  // namespace

bool can_quantize_to(WeightFormat format) {
    return block_function(format) != nullptr;
}

void quantize_row(WeightFormat format, const float* x, const float* importance, std::int64_t columns,
                  std::byte* out) {
    const BlockFunction quantize_block = block_function(format);
    if (quantize_block == nullptr) throw std::invalid_argument("no weights in " + std::string(name(format)));
    std::array<float, kSuperBlock> ones;
    ones.fill(1);
    auto* to = reinterpret_cast<std::uint8_t*>(out);
    const auto step = static_cast<std::int64_t>(block_size(format));
    for (std::int64_t column = 0; column < columns; column += step, to += block_bytes(format))
        quantize_block(x + column, importance == nullptr ? ones.data() : importance + column, to);
}

}  // namespace voltpile::llm
