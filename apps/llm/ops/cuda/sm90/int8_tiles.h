// Products of quantized weights with many rows by integer tensor cores of compute capability 9.0
// (int8_product.cuh). Weights are rounded to 8 bits with a scale for each 128 columns of a row, by at most
// 1/254 of the largest of them, anew for each product, which pays for many rows. Activations have a scale for
// each row and a factor for each 128 columns that 128 rows share (int8_shape.h).
#pragma once

#include "llm/ops/cuda/matmul.h"

namespace voltpile::llm {

constexpr int least_int8_rows = 641;
// Whether launch_int8_tiles() should multiply these matrices: it is faster than the other kernels (measured),
// and the results are fp16. What is added to the residual stream (fp32), and logits, have larger errors from
// rounding: attention and gated products have outliers in columns that differ from row to row.
bool takes_int8_tiles(const MatmulArgs& args);
// Needs args.scratch of scratch_bytes and args.counters, not args.workers. Blocks wait for each other, so all
// must run at once: no other wide product may run on the GPU at the same time. A row's result depends on the
// rows beside it, by rounding. Throws DeviceError if one piece and tile do not fit into the scratch memory.
void launch_int8_tiles(const MatmulArgs& args, std::size_t scratch_bytes, int multiprocessors,
                       const Stream& stream);

}  // namespace voltpile::llm
