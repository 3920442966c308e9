// The operands of products of integers (int8_product.cuh): a tile is 192 rows of weights by 128 rows of x, a
// step 128 columns. Weights have a scale for each row and step. The scale of x is a scale of the row times a
// factor of the step that the 128 rows of a piece share, because large activations are in the same columns of
// most rows.
#pragma once

#include "llm/ops/cuda/tiles.h"

namespace voltpile::llm {

struct Int8Shape {  // see shared_tile.cuh
    static constexpr int warpgroups = 3, threads = 128 * warpgroups, slabs = 1;
    static constexpr int weights = 64 * warpgroups, rows = 128;
};

// A step of a tile: weight = scale * q. Of a gated one 8 rows of the gate and 8 of up alternate. 16-byte
// pieces of q are at swizzled(). Rows and columns that do not exist are 0.
struct Int8Weights {
    std::int8_t q[Int8Shape::weights][step_columns];
    float scale[Int8Shape::weights];
};

// A step of a piece of x: x = scale of the row * factor * q. 16-byte pieces of q are at swizzled().
struct alignas(16) Int8Rows {
    std::int8_t q[Int8Shape::rows][step_columns];
    float factor;
};

// Rounds the weights of all tiles of args to `to`, (tiles, steps).
template <WeightFormat format>
void launch_int8_weights_of(const TileArgs& args, Int8Weights* to, const Stream& stream);

}  // namespace voltpile::llm
