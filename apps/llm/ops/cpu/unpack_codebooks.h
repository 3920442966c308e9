// Unpack (integer_panel.h) of the formats whose weights are entries of a grid. codebooks/codebook_block.h
// has their fields.
#pragma once

#include <array>

#include "llm/ops/codebooks/grids.h"
#include "llm/ops/cpu/unpack_32.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {

#if defined(__AVX2__)
#if defined(__AVX512F__)
// The numbers with these indices, which are below the size.
template <std::size_t size>
VOLTPILE_INLINE __m512i permuted(const std::uint16_t* numbers, __m512i index) {
    constexpr std::size_t half = size / 2;
    if constexpr (half == 32) {
        return _mm512_permutex2var_epi16(_mm512_loadu_si512(numbers), index,
                                         _mm512_loadu_si512(numbers + half));
    } else {
        const __mmask32 upper = _mm512_test_epi16_mask(index, _mm512_set1_epi16(half));
        return _mm512_mask_blend_epi16(upper, permuted<half>(numbers, index),
                                       permuted<half>(numbers + half, index));
    }
}
#endif

// The grid's entries for two indices of 16 bits in each lane.
template <std::size_t size>
VOLTPILE_INLINE IntLanes entries_of(const std::array<std::uint16_t, size>& grid, IntLanes indices) {
    const auto* const numbers = reinterpret_cast<const std::uint16_t*>(&grid);  // no function of std::array
#if defined(__AVX512F__)
    return (IntLanes::Numbers)permuted<size>(numbers, (__m512i)indices.v);
#else
    const auto gathered = [&](IntLanes index) {
        // Two entries at once, so that no load reaches beyond the grid.
        const __m256i both =
            _mm256_i32gather_epi32(reinterpret_cast<const int*>(numbers), (__m256i)(index >> 1).v, 4);
        const __m256i bits = (__m256i)((index & 1) << 4).v;
        return IntLanes((IntLanes::Numbers)_mm256_srlv_epi32(both, bits)) & 0xffff;
    };
    return gathered(indices & 0xffff) | gathered(indices >> 16 & 0xffff) << 16;
#endif
}

// The grid's entries for 4 indices. low: their lower 8 bits, one byte each. high_even, high_odd: the higher
// bits of indices 0 and 2, and of 1 and 3, in place in 16 bits each.
struct FourEntries {
    IntLanes even, odd;
    template <std::size_t size>
    VOLTPILE_INLINE FourEntries(const std::array<std::uint16_t, size>& grid, IntLanes low, IntLanes high_even,
                                IntLanes high_odd)
        : even(entries_of(grid, (low & 0x00ff00ff) | high_even)),
          odd(entries_of(grid, (low >> 8 & 0x00ff00ff) | high_odd)) {}
    // Entry i, with other bits above its 16.
    VOLTPILE_INLINE IntLanes operator[](int i) const { return (i % 2 == 0 ? even : odd) >> 16 * (i / 2); }
};

// 4 codes of 2 bits, in the low 8 bits of each lane, as 4 bytes.
VOLTPILE_INLINE IntLanes spread_pairs(IntLanes entry) {
    entry = entry & 0xff;
    entry = (entry | entry << 12) & 0x000f000f;
    return (entry | entry << 6) & 0x03030303;
}
// 4 codes of 4 bits, in the low 16 bits of each lane, as 4 bytes.
VOLTPILE_INLINE IntLanes spread_nibbles(IntLanes entry) {
    entry = entry & 0xffff;
    entry = (entry | entry << 8) & 0x00ff00ff;
    return (entry | entry << 4) & 0x0f0f0f0f;
}

// even_signs() of each byte. The top bit of each byte must be 0.
VOLTPILE_INLINE IntLanes even_signs_of_bytes(IntLanes seven) {
    IntLanes odd = seven ^ seven >> 4;
    odd = odd ^ odd >> 2;
    odd = odd ^ odd >> 1;
    return seven | (odd & 0x01010101) << 7;
}
// The signs of 32 weights from 4 x 7 bits.
VOLTPILE_INLINE IntLanes even_signs_of_word(IntLanes word) {
    return even_signs_of_bytes((word & 0x7f) | (word << 1 & 0x7f00) | (word << 2 & 0x7f0000) |
                               (word << 3 & 0x7f000000));
}

// Negates byte c of each lane if bit 4 * step + c of the lane's word is set.
VOLTPILE_INLINE IntLanes with_signs(IntLanes q, IntLanes word, int step) {
    const ByteMask negative = bits_of_step(word, step);
#if defined(__AVX512F__)
    return (IntLanes::Numbers)_mm512_mask_sub_epi8((__m512i)q.v, negative, _mm512_setzero_si512(),
                                                   (__m512i)q.v);
#else
    return (IntLanes::Numbers)_mm256_sub_epi8(_mm256_xor_si256((__m256i)q.v, negative), negative);
#endif
}

// The sink's bytes for 4 codes, each below the size of the table. signs: of the 32 columns.
VOLTPILE_INLINE IntLanes signed_values(IntLanes table, IntLanes codes, IntLanes signs, int step) {
    return vnni_signed(with_signs(look_up(table, codes), signs, step));
}

// Passes 8 weights of IQ2 to the sink, from step `step` on. signs: of the 32 columns.
template <class Sink>
VOLTPILE_INLINE void unpack_iq2(IntLanes entry, IntLanes signs, int block, int step, Sink& sink) {
    const IntLanes table = table_of(iq2_values);
    sink.q(block, step, signed_values(table, spread_pairs(entry), signs, step));
    sink.q(block, step + 1, signed_values(table, spread_pairs(entry >> 8), signs, step + 1));
}
// Passes 16 weights of IQ3 to the sink, from step `step` on. signs: of the 32 columns.
template <class Sink>
VOLTPILE_INLINE void unpack_iq3(const FourEntries& entries, IntLanes table, IntLanes signs, int block,
                                int step, Sink& sink) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        sink.q(block, step + i, signed_values(table, spread_nibbles(entries[i]), signs, step + i));
}
// Passes 8 weights of IQ1 to the sink, from step `step` on. negative: the sign of their offset, in bit 0.
template <class Sink>
VOLTPILE_INLINE void unpack_iq1(IntLanes entry, IntLanes negative, int block, int step, Sink& sink) {
    // Codes 0 to 2 with the offset 1, and 4 to 6 with -1.
    const IntLanes table = repeated(_mm_setr_epi8(-7, 1, 9, 0, -9, -1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    const IntLanes second = (IntLanes(0) - (negative & 1)) & 0x04040404;
    sink.q(block, step, vnni_signed(look_up(table, spread_pairs(entry) | second)));
    sink.q(block, step + 1, vnni_signed(look_up(table, spread_pairs(entry >> 8) | second)));
}

// Both scales of a part of IQ2_XS and IQ2_S. offset: of the block's 16 scales of 4 bits.
template <class Sink>
VOLTPILE_INLINE void unpack_iq2_scales(const StripBlock& block, int offset, Lanes d, int part, Sink& sink) {
    const IntLanes scales = block.load(offset + part / 4 * 4) >> 8 * (part % 4);
    sink.scale(2 * part, to_float((scales & 15) * 2 + 1) * d);
    sink.scale(2 * part + 1, to_float((scales >> 4 & 15) * 2 + 1) * d);
}

template <>
struct Unpack<WeightFormat::IQ2_XXS> {
    static constexpr int bytes = 66, blocks = 8, group = 32, min_group = 0, largest = 43;
    static constexpr bool is_signed = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const Lanes d = block.load_half(0) * 0.125F;
        for (int part = 0; part < 8; ++part) {
            const IntLanes indices = block.load(2 + 8 * part), word = block.load(6 + 8 * part);
            sink.scale(part, to_float((word >> 28 & 15) * 2 + 1) * d);
            const IntLanes signs = even_signs_of_word(word);
            const FourEntries entries(iq2_xxs_grid, indices, 0, 0);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) unpack_iq2(entries[i], signs, part, 2 * i, sink);
            sink.done(part, 1);
        }
    }
};

template <>
struct Unpack<WeightFormat::IQ2_XS> {
    static constexpr int bytes = 74, blocks = 8, group = 16, min_group = 0, largest = 43;
    static constexpr bool is_signed = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const Lanes d = block.load_half(0) * 0.125F;
        for (int part = 0; part < 8; ++part) {
            unpack_iq2_scales(block, 66, d, part, sink);
            const IntLanes words[2] = {block.load(2 + 8 * part), block.load(6 + 8 * part)};
            const IntLanes signs =
                even_signs_of_bytes((words[0] >> 9 & 0x7f) | (words[0] >> 17 & 0x7f00) |
                                    (words[1] << 7 & 0x7f0000) | (words[1] >> 1 & 0x7f000000));
            const IntLanes entries[2] = {entries_of(iq2_xs_grid, words[0] & 0x01ff01ff),
                                         entries_of(iq2_xs_grid, words[1] & 0x01ff01ff)};
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) unpack_iq2(entries[i / 2] >> 16 * (i % 2), signs, part, 2 * i, sink);
            sink.done(part, 1);
        }
    }
};

template <>
struct Unpack<WeightFormat::IQ2_S> {
    static constexpr int bytes = 82, blocks = 8, group = 16, min_group = 0, largest = 43;
    static constexpr bool is_signed = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const Lanes d = block.load_half(0) * 0.125F;
        for (int part = 0; part < 8; ++part) {
            unpack_iq2_scales(block, 74, d, part, sink);
            const IntLanes low = block.load(2 + 4 * part), signs = block.load(34 + 4 * part);
            const IntLanes high = byte_of(block.load(66 + part / 4 * 4), part % 4);
            const FourEntries entries(iq2_s_grid, low, (high & 0x03) << 8 | (high & 0x30) << 20,
                                      (high & 0x0c) << 6 | (high & 0xc0) << 18);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) unpack_iq2(entries[i], signs, part, 2 * i, sink);
            sink.done(part, 1);
        }
    }
};

template <>
struct Unpack<WeightFormat::IQ3_XXS> {
    static constexpr int bytes = 98, blocks = 8, group = 32, min_group = 0, largest = 62;
    static constexpr bool is_signed = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const Lanes d = block.load_half(0) * 0.25F;
        for (int part = 0; part < 8; ++part) {
            const IntLanes word = block.load(66 + 4 * part);
            sink.scale(part, to_float((word >> 28 & 15) * 2 + 1) * d);
            const IntLanes signs = even_signs_of_word(word), table = table_of(iq3_xxs_values);
#pragma GCC unroll 2
            for (int w = 0; w < 2; ++w)
                unpack_iq3(FourEntries(iq3_xxs_grid, block.load(2 + 8 * part + 4 * w), 0, 0), table, signs,
                           part, 4 * w, sink);
            sink.done(part, 1);
        }
    }
};

template <>
struct Unpack<WeightFormat::IQ3_S> {
    static constexpr int bytes = 110, blocks = 8, group = 32, min_group = 0, largest = 15;
    static constexpr bool is_signed = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const Lanes d = block.load_half(0);
        const IntLanes scales = block.load(106);
        for (int part = 0; part < 8; ++part) {
            sink.scale(part, to_float((scales >> 4 * part & 15) * 2 + 1) * d);
            const IntLanes signs = block.load(74 + 4 * part), table = table_of(iq3_s_values);
            const IntLanes ninth = byte_of(block.load(66 + part / 4 * 4), part % 4);
#pragma GCC unroll 2
            for (int w = 0; w < 2; ++w) {
                const IntLanes bits = ninth >> 4 * w;
                unpack_iq3(
                    FourEntries(iq3_s_grid, block.load(2 + 8 * part + 4 * w),
                                (bits & 1) << 8 | (bits & 4) << 22, (bits & 2) << 7 | (bits & 8) << 21),
                    table, signs, part, 4 * w, sink);
            }
            sink.done(part, 1);
        }
    }
};

template <>
struct Unpack<WeightFormat::IQ1_S> {
    static constexpr int bytes = 50, blocks = 8, group = 32, min_group = 0, largest = 9;
    static constexpr bool is_signed = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const Lanes d = block.load_half(0) * 0.125F;
        for (int part = 0; part < 8; ++part) {
            const IntLanes low = block.load(2 + 4 * part);
            const IntLanes high = block.load(34 + part / 2 * 4) >> 16 * (part % 2);
            sink.scale(part, to_float((high >> 12 & 7) * 2 + 1) * d);
            const FourEntries entries(iq1_grid, low, (high & 0007) << 8 | (high & 0700) << 18,
                                      (high & 0070) << 5 | (high & 07000) << 15);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) unpack_iq1(entries[i], high >> 15, part, 2 * i, sink);
            sink.done(part, 1);
        }
    }
};

template <>
struct Unpack<WeightFormat::IQ1_M> {
    static constexpr int bytes = 56, blocks = 8, group = 16, min_group = 0, largest = 9;
    static constexpr bool is_signed = true;
    template <class Sink>
    static VOLTPILE_INLINE void unpack(const StripBlock& block, Sink& sink) {
        const IntLanes words[2] = {block.load(48), block.load(52)};
        const Lanes d =
            0.125F * float_from_half_bits((words[0] >> 12 & 15) | (words[0] >> 28 & 15) << 4 |
                                          (words[1] >> 12 & 15) << 8 | (words[1] >> 28 & 15) << 12);
        for (int part = 0; part < 8; ++part) {
            const IntLanes scales = words[part / 4] >> (16 * (part / 2 % 2) + 6 * (part % 2));
            sink.scale(2 * part, to_float((scales & 7) * 2 + 1) * d);
            sink.scale(2 * part + 1, to_float((scales >> 3 & 7) * 2 + 1) * d);
            const IntLanes low = block.load(4 * part);
            const IntLanes high = block.load(32 + part / 2 * 4) >> 16 * (part % 2);
            const FourEntries entries(iq1_grid, low, (high & 0x007) << 8 | (high & 0x700) << 16,
                                      (high & 0x070) << 4 | (high & 0x7000) << 12);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) unpack_iq1(entries[i], high >> (4 * i + 3), part, 2 * i, sink);
            sink.done(part, 1);
        }
    }
};
#endif

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
