// Unpack (integer_panel.h) of the formats with blocks of 256 weights that files have beside Q4_K, Q5_K and
// Q6_K.
#pragma once

#include "llm/ops/cpu/unpack_32.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

#if defined(__AVX2__)
template <>
struct Unpack<WeightFormat::Q2_K> {
    static constexpr int bytes = 84, blocks = 8, group = 16, min_group = 16, largest = 3;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const IntLanes both = block.load(80);
        const Lanes d = half_of(both, 0), dmin = -half_of(both, 1);
#pragma GCC unroll 4
        for (int four = 0; four < 4; ++four) {
            const IntLanes packed = block.load(4 * four);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) {
                sink.scale(4 * four + i, to_float(packed >> 8 * i & 15) * d);
                sink.min(4 * four + i, to_float(packed >> (8 * i + 4) & 15) * dmin);
            }
        }
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 8
            for (int i = 0; i < 8; ++i) {
                const IntLanes q = block.load(16 + 32 * half + 4 * i);
#pragma GCC unroll 4
                for (int j = 0; j < 4; ++j) sink.q(4 * half + j, i, q >> 2 * j & 0x03030303);
            }
            sink.done(4 * half, 4);
        }
    }
};

template <>
struct Unpack<WeightFormat::Q3_K> {
    static constexpr int bytes = 110, blocks = 8, group = 16, min_group = 0, largest = 7;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const Lanes d = block.load_half(108);
        // Scale 4 * four + i has its low 4 bits in byte i of word four % 2, and the other 2 in byte i of
        // `high`.
        const IntLanes low[2] = {block.load(96), block.load(100)}, high = block.load(104);
#pragma GCC unroll 4
        for (int four = 0; four < 4; ++four) {
            const IntLanes scales =
                (low[four % 2] >> four / 2 * 4 & 0x0f0f0f0f) | (high >> 2 * four & 0x03030303) << 4;
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) sink.scale(4 * four + i, to_float((scales >> 8 * i & 63) - 32) * d);
        }
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 8
            for (int i = 0; i < 8; ++i) {
                const IntLanes q = block.load(32 + 32 * half + 4 * i);
                const IntLanes third = block.load(4 * i) >> 4 * half;
#pragma GCC unroll 4
                for (int j = 0; j < 4; ++j)
                    sink.q(4 * half + j, i, (q >> 2 * j & 0x03030303) | (third >> j & 0x01010101) << 2);
            }
            sink.done(4 * half, 4);
        }
    }
};

template <>
struct Unpack<WeightFormat::IQ4_XS> {
    static constexpr int bytes = 136, blocks = 8, group = 32, min_group = 0, largest = 127;
    static constexpr bool is_signed = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const IntLanes first = block.load(0), low = block.load(4);
        const Lanes d = half_of(first, 0);
#pragma GCC unroll 8
        for (int part = 0; part < 8; ++part) {
            const IntLanes scale = (low >> 4 * part & 15) | (first >> (16 + 2 * part) & 3) << 4;
            sink.scale(part, to_float(scale - 32) * d);
        }
#pragma GCC unroll 8
        for (int part = 0; part < 8; ++part) {
            unpack_nibbles(block, 8 + 16 * part, part, sink, [](int, IntLanes q) { return look_up_iq4(q); });
            sink.done(part, 1);
        }
    }
};
#endif

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
