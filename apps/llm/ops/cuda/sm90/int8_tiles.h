// Products of quantized weights by integer tensor cores of compute capability 9.0 (int8_product.cuh). Weights
// and activations are rotated (rotation.h) and rounded to 8 bits, with one scale for each row. A row's result
// does not depend on the other rows.
#pragma once

#include "llm/ops/cuda/integer_weights.h"
#include "llm/ops/cuda/matmul.h"

namespace voltpile::llm {

// From so many rows of x on, products of integers are faster than others (measured): with a copy of the
// weights as integers; with one of at least least_weights_of_bytes weights that have as many bytes
// themselves; and without, where weights are rounded anew for each product.
constexpr int least_int8_rows = 17, least_int8_rows_of_bytes = 5, least_rows_to_round_weights = 1025;
constexpr std::int64_t least_weights_of_bytes = std::int64_t{1} << 24;
// Takes args.norm. Needs args.scratch of scratch_bytes, args.counters and args.integers, not args.workers.
// The matrices may have different formats. Blocks wait for each other, so all must run at once: no other wide
// product may run on the GPU at the same time. Throws DeviceError if one piece and tile do not fit into the
// scratch memory.
void launch_int8_tiles(const MatmulArgs& args, std::size_t scratch_bytes, int multiprocessors,
                       const Stream& stream);
// Makes the copy of the matrices of args in args.integers. Needs args.scratch of scratch_bytes.
void launch_integer_copy(const MatmulArgs& args, std::size_t scratch_bytes, const Stream& stream);

}  // namespace voltpile::llm
