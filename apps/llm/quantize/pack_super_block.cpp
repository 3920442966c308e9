#include "llm/quantize/pack_super_block.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/half.h"
#include "llm/model/weight_format.h"

namespace voltpile::llm {
namespace {

void put_half_at(float value, std::uint8_t* out) {
    const std::uint16_t bits = half_from_float(value);
    std::memcpy(out, &bits, sizeof bits);
}

void set_bits(std::uint8_t& byte, int value, std::size_t shift) {
    byte = static_cast<std::uint8_t>(byte | value << shift);
}

// Weight i of quarter j of a half of the block is in bits 2j and 2j + 1 of byte i of the half's 32 bytes.
void put_pairs(const std::array<int, kSuperBlock>& q, std::uint8_t* out) {
    for (std::size_t i = 0; i < kSuperBlock; ++i)
        set_bits(out[i / 128 * 32 + i % 32], q[i] & 3, i / 32 % 4 * 2);
}

// 8 scales and 8 minima of 6 bits in 12 bytes: the first four of each in the low bits of bytes 0 to 7, the
// low four bits of the others in bytes 8 to 11 and their high two bits above the first ones.
void put_six_bits(const SuperBlock& block, std::uint8_t* out) {
    for (std::size_t j = 0; j < 4; ++j) {
        const int scale = block.scale[j + 4], min = block.min[j + 4];
        out[j] = static_cast<std::uint8_t>(block.scale[j] | (scale >> 4) << 6);
        out[j + 4] = static_cast<std::uint8_t>(block.min[j] | (min >> 4) << 6);
        out[j + 8] = static_cast<std::uint8_t>((scale & 15) | (min & 15) << 4);
    }
}

// Parts 2p and 2p + 1 share 32 bytes.
void put_part_nibbles(const std::array<int, kSuperBlock>& q, std::uint8_t* out) {
    for (std::size_t i = 0; i < kSuperBlock; ++i)
        set_bits(out[i / 64 * 32 + i % 32], q[i] & 15, i / 32 % 2 * 4);
}

std::uint8_t* cleared(WeightFormat format, std::uint8_t* out) {
    std::fill_n(out, block_bytes(format), std::uint8_t{0});
    return out;
}

void put_d_and_dmin(const SuperBlock& block, std::uint8_t* out) {
    put_half_at(block.d, out);
    put_half_at(block.dmin, out + 2);
}

}  // namespace

void pack_q2_k(const float* x, const float* importance, std::uint8_t* out) {
    const SuperBlock block = fit_with_minima(x, importance, 16, 3, 15);
    cleared(WeightFormat::Q2_K, out);
    for (std::size_t p = 0; p < 16; ++p)
        out[p] = static_cast<std::uint8_t>(block.scale[p] | block.min[p] << 4);
    put_pairs(block.q, out + 16);
    put_d_and_dmin(block, out + 80);
}

void pack_q3_k(const float* x, const float* importance, std::uint8_t* out) {
    SuperBlock block = fit_symmetric(x, importance, 16, {-4, 3}, {-32, 31});
    cleared(WeightFormat::Q3_K, out);
    for (int& q : block.q) q += 4;
    for (std::size_t i = 0; i < kSuperBlock; ++i) set_bits(out[i % 32], block.q[i] >> 2, i / 32);
    put_pairs(block.q, out + 32);
    for (std::size_t p = 0; p < 16; ++p) {
        const int scale = block.scale[p] + 32;
        set_bits(out[96 + p % 8], scale & 15, p / 8 * 4);
        set_bits(out[104 + p % 4], scale >> 4, p / 4 * 2);
    }
    put_half_at(block.d, out + 108);
}

void pack_q4_k(const float* x, const float* importance, std::uint8_t* out) {
    const SuperBlock block = fit_with_minima(x, importance, 8, 15, 63);
    cleared(WeightFormat::Q4_K, out);
    put_d_and_dmin(block, out);
    put_six_bits(block, out + 4);
    put_part_nibbles(block.q, out + 16);
}

void pack_q5_k(const float* x, const float* importance, std::uint8_t* out) {
    const SuperBlock block = fit_with_minima(x, importance, 8, 31, 63);
    cleared(WeightFormat::Q5_K, out);
    put_d_and_dmin(block, out);
    put_six_bits(block, out + 4);
    for (std::size_t i = 0; i < kSuperBlock; ++i) set_bits(out[16 + i % 32], block.q[i] >> 4, i / 32);
    put_part_nibbles(block.q, out + 48);
}

void pack_q6_k(const float* x, const float* importance, std::uint8_t* out) {
    SuperBlock block = fit_symmetric(x, importance, 16, {-32, 31}, {-128, 127});
    cleared(WeightFormat::Q6_K, out);
    for (int& q : block.q) q += 32;
    for (std::size_t i = 0; i < kSuperBlock; ++i) {
        const std::size_t half = i / 128, quarter = i / 32 % 4, at = i % 32;
        set_bits(out[64 * half + 32 * (quarter % 2) + at], block.q[i] & 15, quarter / 2 * 4);
        set_bits(out[128 + 32 * half + at], block.q[i] >> 4, quarter * 2);
    }
    for (std::size_t p = 0; p < 16; ++p)
        out[192 + p] = std::bit_cast<std::uint8_t>(static_cast<std::int8_t>(block.scale[p]));
    put_half_at(block.d, out + 208);
}

}  // namespace voltpile::llm
