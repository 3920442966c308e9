// Products of quantized weights by integer tensor cores (int8_product.h). Weights and activations are rotated
// (rotation.h) and rounded to 8 bits, with one scale for each row. A row's result does not depend on the
// other rows.
#pragma once

#include "llm/ops/cuda/int8_product.h"
#include "llm/ops/cuda/integer_weights.h"
#include "llm/ops/cuda/matmul.h"

namespace voltpile::llm {

// Takes args.norm. Needs args.scratch of scratch_bytes, args.counters and args.integers, not args.workers.
// The matrices may have different formats. Blocks wait for each other, so all must run at once: no other wide
// product may run on the GPU at the same time. Throws DeviceError if one piece and tile do not fit into the
// scratch memory.
void launch_int8_tiles(const MatmulArgs& args, std::size_t scratch_bytes, const Int8Device& device,
                       const Stream& stream);
// Makes the copy of the matrices of args in args.integers. Needs args.scratch of scratch_bytes.
void launch_integer_copy(const MatmulArgs& args, std::size_t scratch_bytes, const Stream& stream);

}  // namespace voltpile::llm
