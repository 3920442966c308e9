// The launchers of matrix-vector products (matvec.cuh).
#pragma once

#include "llm/ops/cuda/matmul.h"

namespace voltpile::llm {

constexpr int matvec_threads = 256;
constexpr int matvec_blocks_per_multiprocessor = 2;

// Writes x, with args.norm if there is one, as fixed point (quantize.cuh) to args.scratch: padded_rows rows.
void launch_quantize(const MatmulArgs& args, int padded_rows, const Stream& stream);

// Each format has its own source file (formats/product.cu.in), because compiling takes long.
template <WeightFormat format>
void launch_matvec_of(const MatmulArgs& args, int blocks, const Stream& stream);

}  // namespace voltpile::llm
