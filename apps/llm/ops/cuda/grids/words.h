// The grids of IQ1, IQ2 and IQ3 (codebooks/grids.h) as kernels look them up: a word for each entry.
#pragma once

#include <cstddef>

#include "llm/model/weight_format_list.h"
#include "llm/ops/codebooks/grids.h"

namespace voltpile::llm {

template <std::size_t count>
struct GridWords {
    alignas(16) std::uint32_t word[count];
};

// IQ1 and IQ2: nibble k of a word has the index of the value or magnitude of weight k.
template <std::size_t count>
constexpr GridWords<count> nibble_words(const std::array<std::uint16_t, count>& grid) {
    GridWords<count> words{};
    for (std::size_t i = 0; i < count; ++i)
        for (int k = 0; k < 8; ++k)
            words.word[i] |= (static_cast<std::uint32_t>(grid[i]) >> 2 * k & 3) << 4 * k;
    return words;
}

// IQ3: byte b of a word has the magnitude of weight b, times `factor`.
template <std::size_t count>
constexpr GridWords<count> iq3_words(const std::array<std::uint16_t, count>& grid,
                                     const std::int8_t (&values)[8], std::uint32_t factor) {
    GridWords<count> words{};
    for (std::size_t i = 0; i < count; ++i)
        for (int b = 0; b < 4; ++b)
            words.word[i] |= factor * static_cast<std::uint32_t>(values[grid[i] >> 4 * b & 7]) << 8 * b;
    return words;
}

// Returns the grid of a format. Both grids of IQ3 have one scale, a quarter of IQ3_S's.
template <WeightFormat format>
constexpr auto grid_words() {
    using enum WeightFormat;
    static_assert(gpu_layout(format) == IQ1_S || gpu_layout(format) == IQ2_S || gpu_layout(format) == IQ3_S);
    if constexpr (gpu_layout(format) == IQ1_S) return nibble_words(iq1_grid);
    if constexpr (format == IQ2_XXS) return nibble_words(iq2_xxs_grid);
    if constexpr (format == IQ2_XS) return nibble_words(iq2_xs_grid);
    if constexpr (format == IQ2_S) return nibble_words(iq2_s_grid);
    if constexpr (format == IQ3_XXS) return iq3_words(iq3_xxs_grid, iq3_xxs_values, 1);
    if constexpr (format == IQ3_S) return iq3_words(iq3_s_grid, iq3_s_values, 4);
}

}  // namespace voltpile::llm
