// Unpack (integer_panel.h) of the formats with blocks of 32 weights that files have beside Q8_0, Q4_0 and
// MXFP4.
#pragma once

#include "llm/ops/cpu/integer_panel.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

#if defined(__AVX2__)
// Bytes of a register.
#if defined(__AVX512F__)
using ByteMask = __mmask64;
#else
using ByteMask = __m256i;
#endif

// Byte c of each lane if bit 4 * step + c of the lane's word is set.
VOLTPILE_INLINE ByteMask bits_of_step(IntLanes word, int step) {
    // The byte with the step's bits, four times.
    const IntLanes spread =
        repeated(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12)) + step / 2 * 0x01010101;
    const std::int32_t bit_of_byte = step % 2 == 0 ? 0x08040201 : static_cast<std::int32_t>(0x80402010U);
#if defined(__AVX512F__)
    return _mm512_test_epi8_mask(_mm512_shuffle_epi8((__m512i)word.v, (__m512i)spread.v),
                                 _mm512_set1_epi32(bit_of_byte));
#else
    const __m256i bit = _mm256_set1_epi32(bit_of_byte);
    return _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8((__m256i)word.v, (__m256i)spread.v), bit),
                             bit);
#endif
}

// Adds 16 to byte c of each lane if bit 4 * step + c of the lane's word is set.
VOLTPILE_INLINE IntLanes add_fifth_bits(IntLanes q, IntLanes word, int step) {
    const ByteMask set = bits_of_step(word, step);
#if defined(__AVX512F__)
    return (IntLanes::Numbers)_mm512_mask_add_epi8((__m512i)q.v, set, (__m512i)q.v, _mm512_set1_epi8(16));
#else
    return q | (IntLanes::Numbers)_mm256_and_si256(set, _mm256_set1_epi8(16));
#endif
}

// d and m, the first 4 bytes of the blocks of Q4_1 and Q5_1.
template <class Sink>
VOLTPILE_INLINE void unpack_scale_and_min(const StripBlock& block, Sink& sink) {
    const IntLanes both = block.load(0);
    sink.scale(0, half_of(both, 0));
    sink.min(0, half_of(both, 1));
}

template <>
struct Unpack<WeightFormat::Q4_1> {
    static constexpr int bytes = 20, blocks = 1, group = 32, min_group = 32, largest = 15;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        unpack_scale_and_min(block, sink);
        unpack_nibbles(block, 4, 0, sink, [](int, IntLanes q) { return q; });
        sink.done(0, 1);
    }
};

// A zero point of z counts as a minimum of -d z, which is exact in fp32 up to a z of 2^13.
template <>
struct Unpack<WeightFormat::UINT4> {
    static constexpr int bytes = 20, blocks = 1, group = 32, min_group = 32, largest = 15;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const IntLanes both = block.load(0);
        const Lanes scale = half_of(both, 0);
        sink.scale(0, scale);
        sink.min(0, Lanes(0) - scale * half_of(both, 1));
        unpack_nibbles(block, 4, 0, sink, [](int, IntLanes q) { return q; });
        sink.done(0, 1);
    }
};

template <>
struct Unpack<WeightFormat::Q5_0> {
    static constexpr int bytes = 22, blocks = 1, group = 32, min_group = 0, largest = 31;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        sink.scale(0, block.load_half(0));
        const IntLanes high = block.load(2);
        unpack_nibbles(block, 6, 0, sink, [=](int i, IntLanes q) { return add_fifth_bits(q, high, i); });
        sink.done(0, 1);
    }
};

template <>
struct Unpack<WeightFormat::Q5_1> {
    static constexpr int bytes = 24, blocks = 1, group = 32, min_group = 32, largest = 31;
    static constexpr bool is_signed = false;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        unpack_scale_and_min(block, sink);
        const IntLanes high = block.load(4);
        unpack_nibbles(block, 8, 0, sink, [=](int i, IntLanes q) { return add_fifth_bits(q, high, i); });
        sink.done(0, 1);
    }
};

// The bytes for the sink of 4 codes of IQ4_NL or IQ4_XS, which are signed as those of Q8_0 are.
VOLTPILE_INLINE IntLanes look_up_iq4(IntLanes codes) {
    return vnni_signed(look_up(table_of(iq4_values), codes));
}

template <>
struct Unpack<WeightFormat::IQ4_NL> {
    static constexpr int bytes = 18, blocks = 1, group = 32, min_group = 0, largest = 127;
    static constexpr bool is_signed = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        sink.scale(0, block.load_half(0));
        unpack_nibbles(block, 2, 0, sink, [](int, IntLanes q) { return look_up_iq4(q); });
        sink.done(0, 1);
    }
};
#endif

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
