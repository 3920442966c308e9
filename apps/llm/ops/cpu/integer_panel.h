// Unpacks quantized weights for integer dot products. A panel has 256 columns of up to 2 registers of
// weights: each 32-bit lane of a register belongs to one weight (a row of the matrix) and holds 4 of its
// columns.
#pragma once

#include "llm/ops/cpu/formats_32.h"
#include "llm/ops/cpu/kernels.h"
#include "llm/ops/cpu/strip_layout.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

#if defined(__AVX2__)
constexpr int panel_columns = 256;
constexpr int panel_blocks = panel_columns / quantized_columns;
constexpr int panel_registers = 2;
constexpr int panel_weights = panel_registers * lane_count;
constexpr int group_registers = quantized_columns / 4;  // for 32 columns

// w[j, c] = scale * (q - offset) + min, with the scale of the format's group of columns.
struct alignas(64) Panel {
    std::uint8_t q[panel_blocks * group_registers][panel_registers][simd_bytes];
    float scale[2 * panel_blocks][panel_registers][lane_count];  // of each `group` columns
    float min[2 * panel_blocks][panel_registers][lane_count];    // of each `min_group` columns
};
static_assert(sizeof(Panel) <= integer_panel_bytes);

// A block of each of the strip's rows (strip_layout.h) that the lanes of a register belong to.
struct StripBlock {
    Bytes at;        // the strip's block
    int first_lane;  // the row of lane 0: the strip has more rows than an AVX2 register has lanes
    VOLTPILE_INLINE void advance(int block_bytes) { at += strip_rows * block_bytes; }
    // Returns where the bytes of lane 0 at `offset` of its block lie, which are part of a unit of unit_bytes.
    VOLTPILE_INLINE Bytes unit(int offset, int unit_bytes) const {
        return at + strip_rows * offset + first_lane * unit_bytes;
    }
    // Loads 4 bytes of each row.
    VOLTPILE_INLINE IntLanes load(int offset) const {
        IntLanes lanes;
        __builtin_memcpy(&lanes.v, unit(offset, 4), sizeof lanes.v);
        return lanes;
    }
    // Loads an fp16 number of each row.
    VOLTPILE_INLINE Lanes load_half(int offset) const { return load_halves(unit(offset, 2)); }
};

VOLTPILE_INLINE IntLanes byte_of(IntLanes word, int byte) {
    return word >> 8 * byte & 255;
}
// The fp16 number in the lower (0) or the upper (1) half of each lane.
VOLTPILE_INLINE Lanes half_of(IntLanes word, int half) {
    return float_from_half_bits(word >> 16 * half & 0xffff);
}

// Unpack<format>::unpack() converts one block of the format for each lane and passes it to a sink:
// sink.scale(group, lanes) and sink.min(group, lanes) first, then sink.q(block, step, bytes), where `block`
// counts 32 columns and a step has 4, and sink.done(first, blocks) once these blocks are complete. `group`
// columns have a scale and `min_group` columns a minimum (0: none), `bytes` is the format's block size and
// `blocks` its number of 32 columns. The bytes are unsigned, or signed as vnni_signed() returns them;
// `largest` is the largest magnitude.
template <WeightFormat format>
struct Unpack;

// Minima of 32 columns.
template <WeightFormat format>
constexpr int mins_of_block =
    Unpack<format>::min_group == 0 ? 0 : quantized_columns / Unpack<format>::min_group;

// 16 bytes, in each 128 bits of a register.
VOLTPILE_INLINE IntLanes repeated(__m128i bytes) {
#if defined(__AVX512F__)
    return (IntLanes::Numbers)_mm512_broadcast_i32x4(bytes);
#else
    return (IntLanes::Numbers)_mm256_broadcastsi128_si256(bytes);
#endif
}

// A table of up to 16 values for look_up().
template <std::size_t count>
VOLTPILE_INLINE IntLanes table_of(const std::int8_t (&values)[count]) {
    alignas(16) std::int8_t table[16] = {};
    for (std::size_t i = 0; i < count; ++i) table[i] = values[i];
    return repeated(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}

// The table's byte for each byte of `codes`, which are below 16.
VOLTPILE_INLINE IntLanes look_up(IntLanes table, IntLanes codes) {
#if defined(__AVX512F__)
    return (IntLanes::Numbers)_mm512_shuffle_epi8((__m512i)table.v, (__m512i)codes.v);
#else
    return (IntLanes::Numbers)_mm256_shuffle_epi8((__m256i)table.v, (__m256i)codes.v);
#endif
}

// 32 weights of 4 bits, the first 16 in the low halves of 16 bytes at `offset`. of(step, codes): the bytes
// for the sink.
template <class Sink, class Of>
VOLTPILE_INLINE void unpack_nibbles(const StripBlock& strip, int offset, int block, Sink& sink, Of of) {
    IntLanes q[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        q[i] = strip.load(offset + 4 * i);
        sink.q(block, i, of(i, q[i] & 0x0f0f0f0f));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sink.q(block, 4 + i, of(4 + i, q[i] >> 4 & 0x0f0f0f0f));
}

// VNNI multiplies unsigned by signed integers: q + 128. AVX2 multiplies magnitudes.
VOLTPILE_INLINE IntLanes vnni_signed(IntLanes q) {
    return simd_level == CpuLevel::Avx512 ? q ^ static_cast<std::int32_t>(0x80808080U) : q;
}

template <>
struct Unpack<WeightFormat::Q8_0> {
    static constexpr int bytes = 34, blocks = 1, group = 32, min_group = 0, largest = 128;
    static constexpr bool is_signed = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        sink.scale(0, block.load_half(0));
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
            sink.q(0, i, vnni_signed(block.load(2 + 4 * i)));
        }
        sink.done(0, 1);
    }
};

template <>
struct Unpack<WeightFormat::Q4_0> {
    static constexpr int bytes = 18, blocks = 1, group = 32, min_group = 0, largest = 15;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        sink.scale(0, block.load_half(0));
        unpack_nibbles(block, 2, 0, sink, [](int, IntLanes q) { return q; });
        sink.done(0, 1);
    }
};

// Returns twice the weights of 4 codes of MXFP4, plus 12.
VOLTPILE_INLINE IntLanes look_up_fp4(IntLanes codes) {
    return look_up(repeated(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0)), codes);
}

// fp4_scale() of each lane.
VOLTPILE_INLINE Lanes fp4_scales(IntLanes e) {
    const IntLanes normal = (e - 1) << 23, subnormal = IntLanes(0x00200000).v << e.v;
    return bits_as<float>(IntLanes(e.v < 2 ? subnormal.v : normal.v));
}

template <>
struct Unpack<WeightFormat::MXFP4> {
    static constexpr int bytes = 17, blocks = 1, group = 32, min_group = 0, largest = 24;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        sink.scale(0, fp4_scales(load_bytes(block.unit(0, 1))));
        unpack_nibbles(block, 1, 0, sink, [](int, IntLanes q) { return look_up_fp4(q); });
        sink.done(0, 1);
    }
};

// The first 16 bytes of the blocks of Q4_K and Q5_K: d, dmin, and 8 pairs of 6 bits.
template <class Sink>
VOLTPILE_INLINE void unpack_scales_and_mins(const StripBlock& block, Sink& sink) {
    const IntLanes head[4] = {block.load(0), block.load(4), block.load(8), block.load(12)};
    const Lanes d = half_of(head[0], 0), dmin = -half_of(head[0], 1);
    const IntLanes scale[2] = {head[1] & 0x3f3f3f3f, (head[3] & 0x0f0f0f0f) | (head[1] >> 2 & 0x30303030)};
    const IntLanes min[2] = {head[2] & 0x3f3f3f3f, (head[3] >> 4 & 0x0f0f0f0f) | (head[2] >> 2 & 0x30303030)};
#pragma GCC unroll 8
    for (int part = 0; part < panel_blocks; ++part) {
        sink.scale(part, to_float(byte_of(scale[part / 4], part % 4)) * d);
        sink.min(part, to_float(byte_of(min[part / 4], part % 4)) * dmin);
    }
}

template <>
struct Unpack<WeightFormat::Q4_K> {
    static constexpr int bytes = 144, blocks = 8, group = 32, min_group = 32, largest = 15;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        unpack_scales_and_mins(block, sink);
#pragma GCC unroll 4
        for (int pair = 0; pair < 4; ++pair) {
#pragma GCC unroll 8
            for (int i = 0; i < 8; ++i) {
                const IntLanes q = block.load(16 + 32 * pair + 4 * i);
                sink.q(2 * pair, i, q & 0x0f0f0f0f);
                sink.q(2 * pair + 1, i, q >> 4 & 0x0f0f0f0f);
            }
            sink.done(2 * pair, 2);
        }
    }
};

template <>
struct Unpack<WeightFormat::Q5_K> {
    static constexpr int bytes = 176, blocks = 8, group = 32, min_group = 32, largest = 31;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        unpack_scales_and_mins(block, sink);
#pragma GCC unroll 4
        for (int pair = 0; pair < 4; ++pair) {
#pragma GCC unroll 8
            for (int i = 0; i < 8; ++i) {
                const IntLanes q = block.load(48 + 32 * pair + 4 * i);
                const IntLanes bits = block.load(16 + 4 * i) >> 2 * pair;
                sink.q(2 * pair, i, (q & 0x0f0f0f0f) | (bits & 0x01010101) << 4);
                sink.q(2 * pair + 1, i, (q >> 4 & 0x0f0f0f0f) | (bits & 0x02020202) << 3);
            }
            sink.done(2 * pair, 2);
        }
    }
};

template <>
struct Unpack<WeightFormat::Q6_K> {
    static constexpr int bytes = 210, blocks = 8, group = 16, min_group = 0, largest = 63;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const Lanes d = block.load_half(208);
#pragma GCC unroll 4
        for (int four = 0; four < 4; ++four) {
            const IntLanes scales = block.load(192 + 4 * four);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) sink.scale(4 * four + i, to_float(scales << (24 - 8 * i) >> 24) * d);
        }
#pragma GCC unroll 2
        for (int part = 0; part < 2; ++part) {
            // Bytes 0 to 31: columns 0 to 31 and 64 to 95 of the part; bytes 32 to 63: the others.
#pragma GCC unroll 8
            for (int i = 0; i < 8; ++i) {
                const IntLanes high = block.load(128 + 32 * part + 4 * i);
#pragma GCC unroll 2
                for (int j = 0; j < 2; ++j) {
                    const IntLanes q = block.load(64 * part + 32 * j + 4 * i), bits = high >> 2 * j;
                    sink.q(4 * part + j, i, (q & 0x0f0f0f0f) | (bits & 0x03030303) << 4);
                    sink.q(4 * part + 2 + j, i, (q >> 4 & 0x0f0f0f0f) | (bits & 0x30303030));
                }
            }
            sink.done(4 * part, 4);
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
    VOLTPILE_INLINE void min(int group, Lanes lanes) { lanes.store(panel.min[first + group][u]); }
    VOLTPILE_INLINE void done(int, int) {}
};
#endif

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
