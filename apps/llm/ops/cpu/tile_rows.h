// Multiplies many rows with a panel by tile registers: a group of columns of 16 rows and 16 weights at once.
// Each sum over a group is exact, and scaling is the same as without tiles, so the bits are as well.
#pragma once

#include <utility>

#include "llm/ops/cpu/group_sum.h"

namespace voltpile::llm {
inline namespace VOLTPILE_TARGET {
namespace {

#if defined(__AVX512F__)
constexpr int tile_rows = 16;

struct alignas(64) TileSums {
    std::int32_t of_row[tile_rows][lane_count];
};

// Calls body.operator()<r>() for 0 <= r < tile_rows. No loop: the compiler would unroll it too late to keep
// an array in registers.
template <class Body, int... r>
VOLTPILE_INLINE void for_rows_in(const Body& body, std::integer_sequence<int, r...>) {
    (body.template operator()<r>(), ...);
}
template <class Body>
VOLTPILE_INLINE void for_rows(const Body& body) {
    for_rows_in(body, std::make_integer_sequence<int, tile_rows>{});
}

// The blocks of a tile's rows.
struct TileRows {
    const QuantizedBlock* four[tile_rows / 4];
    std::int64_t stride;
    // x: the first row's block, x_stride blocks apart.
    VOLTPILE_INLINE TileRows(const QuantizedBlock* x, std::int64_t x_stride) : stride(x_stride) {
#pragma GCC unroll 4
        for (int i = 0; i < tile_rows / 4; ++i) {
            four[i] = x + 4 * i * x_stride;
            // Or else the compiler keeps 16 pointers, for which there are no registers.
            __asm__("" : "+r"(four[i]));
        }
    }
    VOLTPILE_INLINE const QuantizedBlock& operator[](int r) const {
        return four[r / 4][r % 4 * stride];
    }
};

// What multiply_panel does with one register of weights and tile_rows rows. Adds to the sums of rows `begin`
// and following only.
template <WeightFormat format, class Tiles>
__attribute__((noinline)) void multiply_tile_rows(Tiles& tiles, const Panel& panel, int u, int blocks,
                                                  const QuantizedBlock* x, std::int64_t x_stride, int begin,
                                                  float* sums) {
    constexpr int groups = quantized_columns / Unpack<format>::group;
    constexpr int steps = group_steps<format>;
    // So many products are on their way: a tile's sums come back through memory.
    constexpr int ahead = 3;
    TileSums products[ahead + 1];
    const auto begin_group = [&](int i) __attribute__((always_inline)) {
        const int b = i / groups, at = i % groups * steps;
        const auto multiply = [&]<int set>() __attribute__((always_inline)) {
            tiles.template multiply<set>(
                x[b].q + 4 * at, x_stride * static_cast<std::int64_t>(sizeof(QuantizedBlock)),
                panel.q[b * group_registers + at][u], sizeof panel.q[0], products[i % (ahead + 1)]);
        };
        if (i % 2 == 0)
            multiply.template operator()<0>();
        else
            multiply.template operator()<1>();
    };
    for (int i = 0; i < ahead && i < blocks * groups; ++i) begin_group(i);

    Lanes::Numbers total[tile_rows];  // not Lanes, whose constructor is a loop over the array
    for_rows([&]<int r>() __attribute__((always_inline)) {
        total[r] = Lanes::load(sums + r * panel_weights + u * lane_count).v;
    });
    for (int b = 0; b < blocks; ++b) {
        const TileRows rows(x + b, x_stride);
        for (int group = 0; group < groups; ++group) {
            const int i = b * groups + group;
            if (i + ahead < blocks * groups) begin_group(i + ahead);
            const Lanes scale = Lanes::load(panel.scale[i][u]);
            const TileSums& sum = products[i % (ahead + 1)];
            for_rows([&]<int r>() __attribute__((always_inline)) {
                const IntLanes exact =
                    IntLanes::load(sum.of_row[r]) + IntLanes(offset_sum<format>(rows[r], group));
                total[r] = fma(to_float(exact), scale * Lanes(rows[r].scale), Lanes(total[r])).v;
            });
        }
        constexpr int mins = mins_of_block<format>;
#pragma GCC unroll 2
        for (int min = 0; min < mins; ++min) {
            const Lanes of_weights = Lanes::load(panel.min[b * mins + min][u]);
            for_rows([&]<int r>() __attribute__((always_inline)) {
                total[r] = fma(of_weights, min_sum<format>(rows[r], min), Lanes(total[r])).v;
            });
        }
    }
    for_rows([&]<int r>() __attribute__((always_inline)) {
        if (r >= begin) Lanes(total[r]).store(sums + r * panel_weights + u * lane_count);
    });
}

// Adds the products of `rows` rows, at least tile_rows, with a panel to sums[r * panel_weights]. x: the rows'
// blocks of the panel's columns, x_stride blocks apart.
template <WeightFormat format, int registers, class Tiles>
VOLTPILE_INLINE void multiply_rows_by_tiles(Tiles& tiles, const Panel& panel, int blocks,
                                            const QuantizedBlock* x, std::int64_t x_stride, std::int64_t rows,
                                            float* sums) {
    for (std::int64_t r = 0; r < rows; r += tile_rows) {
        // The last tile has rows of the one before if there are not enough.
        const std::int64_t first = r + tile_rows <= rows ? r : rows - tile_rows;
        for (int u = 0; u < registers; ++u)
            multiply_tile_rows<format>(tiles, panel, u, blocks, x + first * x_stride, x_stride,
                                       static_cast<int>(r - first), sums + first * panel_weights);
    }
}
#endif

}  // namespace
}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::llm
