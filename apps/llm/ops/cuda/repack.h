// Repacks the blocks of a model file into the planes of matrix.h, on the GPU.
#pragma once

#include <cstdint>

#include "device/stream.h"
#include "llm/ops/cuda/matrix.h"

namespace voltpile::llm {

// Writable planes of a matrix, of which `rows` rows from first_row on are written.
struct Planes {
    std::uint8_t *quants, *high, *scales, *super;
    int columns, first_row, rows;
};

// Writes `rows` rows of `matrix` from first_row on; its planes must be writable. blocks: the rows in
// `format`, contiguous, in GPU memory; one of F32, BF16 and the formats of DeviceMatrix. columns: as in the
// file, without padding.
void repack_rows(const DeviceMatrix& matrix, WeightFormat format, const std::uint8_t* blocks, int first_row,
                 int rows, int columns, const Stream& stream);

// The same for quantized formats of one layout (gpu_layout()): formats/product.cu.in.
template <WeightFormat layout>
void launch_repack_of(WeightFormat format, const std::uint8_t* blocks, const Planes& to,
                      const Stream& stream);

}  // namespace voltpile::llm
