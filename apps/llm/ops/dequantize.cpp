#include "llm/ops/dequantize.h"

#include <bit>
#include <cstring>

#include "base/half.h"

namespace voltpile::llm {
namespace {

template <class T>
T read(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

float half_at(const std::uint8_t* from) {
    return float_from_half(read<std::uint16_t>(from));
}

void q8_0(const std::uint8_t* block, float* out) {
    const float d = half_at(block);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(std::bit_cast<std::int8_t>(block[2 + i]));
}

void q4_0(const std::uint8_t* block, float* out) {
    const float d = half_at(block);
    for (int i = 0; i < 16; ++i) {
        out[i] = d * static_cast<float>((block[2 + i] & 15) - 8);
        out[16 + i] = d * static_cast<float>((block[2 + i] >> 4) - 8);
    }
}

// Q4_K and Q5_K: parts 2p and 2p + 1 share 32 bytes of nibbles. Bit `part` of high[i] is the fifth bit of the
// part's weight i; nullptr: Q4_K, which has no fifth bits.
void k_block(const std::uint8_t* block, const std::uint8_t* high, const std::uint8_t* nibbles, float* out) {
    const float d = half_at(block);
    const float dmin = half_at(block + 2);
    const SixBitScales six = unpack_six_bit_scales(block + 4);
    for (std::size_t part = 0; part < 8; ++part) {
        const float scale = d * static_cast<float>(six.scale[part]);
        const float min = dmin * static_cast<float>(six.min[part]);
        const std::uint8_t* packed = nibbles + 32 * (part / 2);
        for (int i = 0; i < 32; ++i) {
            int q = part % 2 == 0 ? packed[i] & 15 : packed[i] >> 4;
            if (high != nullptr) q |= (high[i] >> part & 1) << 4;
            out[32 * part + i] = scale * static_cast<float>(q) - min;
        }
    }
}

// A block has two halves of 128 weights with four quarters of 32. Weight i of quarter j has its low four bits
// in nibble j / 2 of byte 32 * (j % 2) + i of the half's 4-bit plane, and its high two bits in bits 2j and
// 2j + 1 of byte i of the half's 2-bit plane.
void q6_k(const std::uint8_t* block, float* out) {
    const float d = half_at(block + 208);
    for (int half = 0; half < 2; ++half) {
        const std::uint8_t* low = block + 64 * half;
        const std::uint8_t* high = block + 128 + 32 * half;
        for (int j = 0; j < 4; ++j) {
            for (int i = 0; i < 32; ++i) {
                const int q = (low[32 * (j % 2) + i] >> (j < 2 ? 0 : 4) & 15) | (high[i] >> 2 * j & 3) << 4;
                const auto scale = std::bit_cast<std::int8_t>(block[192 + 8 * half + 2 * j + i / 16]);
                out[128 * half + 32 * j + i] = d * static_cast<float>(scale) * static_cast<float>(q - 32);
            }
        }
    }
}

}  // namespace

SixBitScales unpack_six_bit_scales(const std::uint8_t* packed) {
    SixBitScales six{};
    for (std::size_t j = 0; j < 4; ++j) {
        const std::uint8_t a = packed[j], b = packed[4 + j], c = packed[8 + j];
        six.scale[j] = a & 63;
        six.min[j] = b & 63;
        six.scale[4 + j] = static_cast<std::uint8_t>((c & 15) | (a >> 6) << 4);
        six.min[4 + j] = static_cast<std::uint8_t>(c >> 4 | (b >> 6) << 4);
    }
    return six;
}

void dequantize_row(WeightFormat format, const std::byte* row, std::int64_t columns, float* out) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(row);
    const std::int64_t block = static_cast<std::int64_t>(block_size(format));
    const std::size_t bytes = block_bytes(format);
    for (std::int64_t c = 0; c < columns; c += block, from += bytes) {
        switch (format) {
            case WeightFormat::F32:
                out[c] = read<float>(from);
                break;
            case WeightFormat::F16:
                out[c] = half_at(from);
                break;
            case WeightFormat::BF16:
                out[c] = std::bit_cast<float>(static_cast<std::uint32_t>(read<std::uint16_t>(from)) << 16);
                break;
            case WeightFormat::Q8_0:
                q8_0(from, out + c);
                break;
            case WeightFormat::Q4_0:
                q4_0(from, out + c);
                break;
            case WeightFormat::Q4_K:
                k_block(from, nullptr, from + 16, out + c);
                break;
            case WeightFormat::Q5_K:
                k_block(from, from + 16, from + 48, out + c);
                break;
            case WeightFormat::Q6_K:
                q6_k(from, out + c);
                break;
        }
    }
}

}  // namespace voltpile::llm
