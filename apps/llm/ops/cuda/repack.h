// Repacks the blocks of a model file into the planes of matrix.h, on the GPU.
#pragma once

#include <cstdint>

#include "device/stream.h"
#include "llm/ops/cuda/matrix.h"

namespace voltpile::llm {

// Writes `rows` rows of `matrix` from first_row on; its planes must be writable. blocks: the rows in
// `format`, contiguous, in GPU memory; one of F32, BF16 and the formats of DeviceMatrix. columns: as in the
// file, without padding.
void repack_rows(const DeviceMatrix& matrix, WeightFormat format, const std::uint8_t* blocks, int first_row,
                 int rows, int columns, const Stream& stream);

}  // namespace voltpile::llm
