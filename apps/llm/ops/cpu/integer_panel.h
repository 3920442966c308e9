// Unpacks quantized weights for integer dot products. A panel has 256 columns of up to 2 registers of
// weights: each 32-bit lane of a register belongs to one weight (a row of the matrix) and holds 4 of its
// columns.
#pragma once

#include "llm/ops/cpu/formats_32.h"
#include "llm/ops/cpu/kernels.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

#if defined(__AVX2__)
constexpr int panel_columns = 256;
constexpr int panel_blocks = panel_columns / quantized_columns;
constexpr int panel_registers = 2;
constexpr int group_registers = quantized_columns / 4;  // for 32 columns

// w[j, c] = scale * (q - offset) + min, with the scale of the format's group of columns.
struct alignas(64) Panel {
    std::uint8_t q[panel_blocks * group_registers][panel_registers][simd_bytes];
    float scale[2 * panel_blocks][panel_registers][lane_count];  // of each group
    float min[panel_blocks][panel_registers][lane_count];
};
static_assert(sizeof(Panel) <= integer_panel_bytes);

// The blocks that a panel's registers are loaded from, one row of the matrix for each lane.
struct PanelRows {
    Bytes at[lane_count];
    VOLTPILE_INLINE void advance(int bytes) {
        for (Bytes& row : at) row += bytes;
    }
};

// Loads 16 bytes of each row: lane j of out[i] has the bytes offset + 4 i to offset + 4 i + 3 of row j.
VOLTPILE_INLINE void load_transposed(const PanelRows& rows, int offset, IntLanes (&out)[4]) {
    const auto at = [&](int row) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows.at[row] + offset));
    };
#if defined(__AVX512F__)
    __m512i a[4];
    for (int i = 0; i < 4; ++i) {
        a[i] = _mm512_castsi128_si512(at(i));
        a[i] = _mm512_mask_broadcast_i32x4(a[i], 0x00f0, at(4 + i));
        a[i] = _mm512_mask_broadcast_i32x4(a[i], 0x0f00, at(8 + i));
        a[i] = _mm512_mask_broadcast_i32x4(a[i], 0xf000, at(12 + i));
    }
    const __m512i low0 = _mm512_unpacklo_epi32(a[0], a[1]), high0 = _mm512_unpackhi_epi32(a[0], a[1]);
    const __m512i low1 = _mm512_unpacklo_epi32(a[2], a[3]), high1 = _mm512_unpackhi_epi32(a[2], a[3]);
    out[0] = (IntLanes::Numbers)_mm512_unpacklo_epi64(low0, low1);
    out[1] = (IntLanes::Numbers)_mm512_unpackhi_epi64(low0, low1);
    out[2] = (IntLanes::Numbers)_mm512_unpacklo_epi64(high0, high1);
    out[3] = (IntLanes::Numbers)_mm512_unpackhi_epi64(high0, high1);
#else
    __m256i a[4];
    for (int i = 0; i < 4; ++i) a[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(at(i)), at(4 + i), 1);
    const __m256i low0 = _mm256_unpacklo_epi32(a[0], a[1]), high0 = _mm256_unpackhi_epi32(a[0], a[1]);
    const __m256i low1 = _mm256_unpacklo_epi32(a[2], a[3]), high1 = _mm256_unpackhi_epi32(a[2], a[3]);
    out[0] = (IntLanes::Numbers)_mm256_unpacklo_epi64(low0, low1);
    out[1] = (IntLanes::Numbers)_mm256_unpackhi_epi64(low0, low1);
    out[2] = (IntLanes::Numbers)_mm256_unpacklo_epi64(high0, high1);
    out[3] = (IntLanes::Numbers)_mm256_unpackhi_epi64(high0, high1);
#endif
}

// Loads one fp16 number of each row.
VOLTPILE_INLINE Lanes load_half_of_rows(const PanelRows& rows, int offset) {
    std::uint16_t bits[lane_count];
    for (int j = 0; j < lane_count; ++j) __builtin_memcpy(&bits[j], rows.at[j] + offset, 2);
    return load_halves(bits);
}

VOLTPILE_INLINE Lanes byte_of_lanes(IntLanes packed, int byte) {
    return to_float(packed >> 8 * byte & 255);
}

// Unpack<format>::unpack() converts one block of the format for each lane and passes it to a sink:
// sink.scale(group, lanes) and sink.min(block, lanes) first, then sink.q(block, step, bytes), where `block`
// counts 32 columns and a step has 4, and sink.done(blocks) once the next `blocks` are complete. `group`
// columns have a scale, `bytes` is the format's block size and `blocks` its number of 32 columns.
template <WeightFormat format>
struct Unpack;

template <>
struct Unpack<WeightFormat::Q8_0> {
    static constexpr int bytes = 34, blocks = 1, group = 32;
    static constexpr bool has_min = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const PanelRows& rows, Sink& sink) {
        sink.scale(0, load_half_of_rows(rows, 0));
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
            IntLanes q[4];
            load_transposed(rows, 2 + 16 * half, q);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) {
                // VNNI multiplies unsigned by signed integers: q + 128. AVX2 multiplies magnitudes.
                if (simd_level == CpuLevel::Avx512) q[i] = q[i] ^ static_cast<std::int32_t>(0x80808080U);
                sink.q(0, 4 * half + i, q[i]);
            }
        }
        sink.done(1);
    }
};

template <>
struct Unpack<WeightFormat::Q4_0> {
    static constexpr int bytes = 18, blocks = 1, group = 32;
    static constexpr bool has_min = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const PanelRows& rows, Sink& sink) {
        sink.scale(0, load_half_of_rows(rows, 0));
        IntLanes q[4];
        load_transposed(rows, 2, q);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) sink.q(0, i, q[i] & 0x0f0f0f0f);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) sink.q(0, 4 + i, q[i] >> 4 & 0x0f0f0f0f);
        sink.done(1);
    }
};

// Returns twice the weights of 4 codes of MXFP4, plus 12.
VOLTPILE_INLINE IntLanes look_up_fp4(IntLanes codes) {
    const __m128i table = _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
#if defined(__AVX512F__)
    return (IntLanes::Numbers)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), (__m512i)codes.v);
#else
    return (IntLanes::Numbers)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), (__m256i)codes.v);
#endif
}

template <>
struct Unpack<WeightFormat::MXFP4> {
    static constexpr int bytes = 17, blocks = 1, group = 32;
    static constexpr bool has_min = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const PanelRows& rows, Sink& sink) {
        float scale[lane_count];
        for (int j = 0; j < lane_count; ++j) scale[j] = fp4_scale(rows.at[j][0]);
        sink.scale(0, Lanes::load(scale));
        IntLanes q[4];
        load_transposed(rows, 1, q);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) sink.q(0, i, look_up_fp4(q[i] & 0x0f0f0f0f));
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) sink.q(0, 4 + i, look_up_fp4(q[i] >> 4 & 0x0f0f0f0f));
        sink.done(1);
    }
};

// The first 16 bytes of the blocks of Q4_K and Q5_K: d, dmin, and 8 pairs of 6 bits.
template <class Sink>
VOLTPILE_INLINE void unpack_scales_and_mins(const PanelRows& rows, Sink& sink) {
    IntLanes head[4];
    load_transposed(rows, 0, head);
    const Lanes d = float_from_half_bits(head[0] & 0xffff);
    const Lanes dmin = -float_from_half_bits(head[0] >> 16 & 0xffff);
    const IntLanes scale[2] = {head[1] & 0x3f3f3f3f, (head[3] & 0x0f0f0f0f) | (head[1] >> 2 & 0x30303030)};
    const IntLanes min[2] = {head[2] & 0x3f3f3f3f, (head[3] >> 4 & 0x0f0f0f0f) | (head[2] >> 2 & 0x30303030)};
#pragma GCC unroll 8
    for (int part = 0; part < panel_blocks; ++part) {
        sink.scale(part, byte_of_lanes(scale[part / 4], part % 4) * d);
        sink.min(part, byte_of_lanes(min[part / 4], part % 4) * dmin);
    }
}

template <>
struct Unpack<WeightFormat::Q4_K> {
    static constexpr int bytes = 144, blocks = 8, group = 32;
    static constexpr bool has_min = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const PanelRows& rows, Sink& sink) {
        unpack_scales_and_mins(rows, sink);
#pragma GCC unroll 4
        for (int pair = 0; pair < 4; ++pair) {
#pragma GCC unroll 2
            for (int half = 0; half < 2; ++half) {
                IntLanes q[4];
                load_transposed(rows, 16 + 32 * pair + 16 * half, q);
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) {
                    sink.q(2 * pair, 4 * half + i, q[i] & 0x0f0f0f0f);
                    sink.q(2 * pair + 1, 4 * half + i, q[i] >> 4 & 0x0f0f0f0f);
                }
            }
            sink.done(2);
        }
    }
};

// Loads 32 bytes of each row.
VOLTPILE_INLINE void load_plane(const PanelRows& rows, int offset, IntLanes (&out)[8]) {
    IntLanes half[4];
    load_transposed(rows, offset, half);
    for (int i = 0; i < 4; ++i) out[i] = half[i];
    load_transposed(rows, offset + 16, half);
    for (int i = 0; i < 4; ++i) out[4 + i] = half[i];
}

template <>
struct Unpack<WeightFormat::Q5_K> {
    static constexpr int bytes = 176, blocks = 8, group = 32;
    static constexpr bool has_min = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const PanelRows& rows, Sink& sink) {
        unpack_scales_and_mins(rows, sink);
        IntLanes high[8];
        load_plane(rows, 16, high);
#pragma GCC unroll 4
        for (int pair = 0; pair < 4; ++pair) {
#pragma GCC unroll 2
            for (int half = 0; half < 2; ++half) {
                IntLanes q[4];
                load_transposed(rows, 48 + 32 * pair + 16 * half, q);
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) {
                    const IntLanes bits = high[4 * half + i] >> 2 * pair;
                    sink.q(2 * pair, 4 * half + i, (q[i] & 0x0f0f0f0f) | (bits & 0x01010101) << 4);
                    sink.q(2 * pair + 1, 4 * half + i, (q[i] >> 4 & 0x0f0f0f0f) | (bits & 0x02020202) << 3);
                }
            }
            sink.done(2);
        }
    }
};

template <>
struct Unpack<WeightFormat::Q6_K> {
    static constexpr int bytes = 210, blocks = 8, group = 16;
    static constexpr bool has_min = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const PanelRows& rows, Sink& sink) {
        const Lanes d = load_half_of_rows(rows, 208);
        IntLanes scales[4];
        load_transposed(rows, 192, scales);
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) sink.scale(i, to_float(scales[i / 4] << (24 - 8 * (i % 4)) >> 24) * d);
#pragma GCC unroll 2
        for (int part = 0; part < 2; ++part) {
            // Bytes 0 to 31: columns 0 to 31 and 64 to 95 of the part; bytes 32 to 63: the others.
#pragma GCC unroll 2
            for (int half = 0; half < 2; ++half) {
                IntLanes high[4];
                load_transposed(rows, 128 + 32 * part + 16 * half, high);
#pragma GCC unroll 2
                for (int j = 0; j < 2; ++j) {
                    IntLanes q[4];
                    load_transposed(rows, 64 * part + 32 * j + 16 * half, q);
#pragma GCC unroll 4
                    for (int i = 0; i < 4; ++i) {
                        const IntLanes bits = high[i] >> 2 * j;
                        sink.q(4 * part + j, 4 * half + i, (q[i] & 0x0f0f0f0f) | (bits & 0x03030303) << 4);
                        sink.q(4 * part + 2 + j, 4 * half + i,
                               (q[i] >> 4 & 0x0f0f0f0f) | (bits & 0x30303030));
                    }
                }
            }
            sink.done(4);
        }
    }
};

// Writes register u of a panel, from block `first` on.
struct PanelSink {
    Panel& panel;
    int first;
    int u;
    VOLTPILE_INLINE void q(int block, int step, IntLanes bytes) {
        __builtin_memcpy(panel.q[group_registers * (first + block) + step][u], &bytes.v, simd_bytes);
    }
    // Formats with two groups in a block have blocks of a whole panel: first is 0.
    VOLTPILE_INLINE void scale(int group, Lanes lanes) { lanes.store(panel.scale[first + group][u]); }
    VOLTPILE_INLINE void min(int block, Lanes lanes) { lanes.store(panel.min[first + block][u]); }
    VOLTPILE_INLINE void done(int) {}
};
#endif

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
