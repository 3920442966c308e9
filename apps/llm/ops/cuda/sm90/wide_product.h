// Products of many rows on compute capability 9.0: launch_wide_tiles() and its kernels (wide_product.cuh).
#pragma once

#include "llm/ops/cuda/tiles.h"

namespace voltpile::llm {

// The shape of a block's tile: 128 or 256 rows of weights, and as many rows of x as keep its sums in
// registers.
template <int slab_count>
struct WideShape {  // see shared_tile.cuh
    static constexpr int warpgroups = 2, threads = 128 * warpgroups, slabs = slab_count;
    static constexpr int weights = 128 * slabs, rows = 256 / slabs;
};

// args: of tiles and pieces of WideShape<slabs>, 1 or 2. One block runs on a multiprocessor. args.matmul.x:
// fp16 (pieces, steps, 2, rows, 64): the 128 columns of a step, permuted so that lanes hold whole units of 32
// weights, in two chunks whose 16-byte pieces are at swizzled(). Zeros up to whole steps; rows that do not
// exist may be anything.
template <WeightFormat format>
void launch_wide_tiles_of(const TileArgs& args, int slabs, const Stream& stream);

}  // namespace voltpile::llm
