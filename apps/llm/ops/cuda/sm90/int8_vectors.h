// Products of a few rows by the copies of weights as integers (int8_shape.h), on compute capability 9.0:
// to the same bits as launch_int8_tiles().
#pragma once

#include "llm/ops/cuda/integer_weights.h"
#include "llm/ops/cuda/matmul.h"

namespace voltpile::llm {

// Whether launch_int8_vectors() takes these rows of x: up to matvec_rows, and those of so many columns fit in
// shared memory. Needs args.integers.
bool takes_int8_vectors(const MatmulArgs& args, int multiprocessors);
// Needs args.integers with a copy, and args.scratch of scratch_bytes, and takes args.norm and args.adds.
// Throws DeviceError if the scratch memory is too small.
void launch_int8_vectors(const MatmulArgs& args, std::size_t scratch_bytes, int multiprocessors,
                         const Stream& stream);

}  // namespace voltpile::llm
