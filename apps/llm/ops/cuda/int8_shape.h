// The operands of products of integers (int8_product.h): rows of weights and of x, rotated (rotation.h) and
// rounded to 8 bits with a scale for each row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/ops/cuda/tiles.h"

namespace voltpile::llm {

// A block multiplies a half of a tile's rows of weights by `piece` rows of x.
constexpr int int8_halves = 2, int8_half_weights = 128;
constexpr int int8_tile_weights = int8_halves * int8_half_weights;
// See shared_tile.cuh.
template <int piece, int slab_count>
struct Int8Shape {
    static constexpr int slabs = slab_count, warpgroups = int8_half_weights / 64 / slabs;
    static constexpr int threads = 128 * warpgroups, weights = int8_half_weights, rows = piece;
};

// quants: int8 (rows / each, steps, each, 128), each being the rows of a half of a tile, or of a piece of x.
// 16-byte pieces of 128 columns are at swizzled(). Rows that do not exist may be anything, columns that do
// not exist are 0. scale: (rows). A number is quants * scale. Pointers are to GPU memory and are not owned.
struct Int8Rows {
    std::int8_t* quants;
    float* scale;
};

inline std::size_t bytes_of_rows(std::size_t rows, int steps) {
    return rows * (static_cast<std::size_t>(steps) * step_columns + sizeof(float));
}
// Rows in memory of bytes_of_rows().
inline Int8Rows rows_in(std::uint8_t* memory, std::size_t rows, int steps) {
    const std::size_t bytes = rows * static_cast<std::size_t>(steps) * step_columns;
    return {reinterpret_cast<std::int8_t*>(memory), reinterpret_cast<float*>(memory + bytes)};
}

}  // namespace voltpile::llm
