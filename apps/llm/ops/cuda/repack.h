// From a file's blocks to the planes of cuda_matrix.h, on the GPU.
#pragma once

#include <cstdint>

#include "device/stream.h"
#include "llm/ops/cuda/matrix.h"

namespace voltpile::llm {

// Rows first_row .. first_row + rows of `matrix`, whose planes are writable. blocks: in the GPU's memory, in
// `format` (the file's), rows without gaps. columns: as in the file, not padded.
void repack_rows(const DeviceMatrix& matrix, WeightFormat format, const std::uint8_t* blocks, int first_row,
                 int rows, int columns, const Stream& stream);

}  // namespace voltpile::llm
