// Products of many rows on compute capability 9.0: launch_wide_tiles() and its kernels (wide_product.cuh).
#pragma once

#include "llm/ops/cuda/tiles.h"

namespace voltpile::llm {

// args.pieces: of x_rows rows of x: 128 or 256. One block runs on a multiprocessor. args.matmul.x: fp16
// (pieces, steps, 2, x_rows, 64): the 128 columns of a step, permuted so that lanes hold whole units of 32
// weights, in two chunks whose 16-byte pieces are at swizzled(). Zeros up to whole steps; rows that do not
// exist may be anything.
template <WeightFormat format>
void launch_wide_tiles_of(const TileArgs& args, int x_rows, const Stream& stream);

}  // namespace voltpile::llm
