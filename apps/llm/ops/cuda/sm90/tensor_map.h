// Descriptions of matrices of bytes from which bulk copies bring boxes to shared memory (PTX ISA: tensors in
// tiled mode).
#pragma once

#include <cuda.h>

#include <cstdint>

namespace voltpile::llm {

struct ByteMatrix {
    const std::uint8_t* begin = nullptr;  // 16-byte aligned
    std::int64_t rows = 0;
    std::int64_t row_bytes = 0;  // a multiple of 16
};
// Returns the description for boxes of box_rows rows (at most 256) by box_bytes bytes (a multiple of 16 up to
// 128). The parts of a box outside the matrix become zeros. swizzled: 16-byte piece p of row r of a box of
// 128 bytes, which begins at a multiple of 1024 bytes, is at piece p ^ r % 8. Throws DeviceError if the
// driver refuses.
CUtensorMap tensor_map(const ByteMatrix& matrix, int box_bytes, int box_rows, bool swizzled);

}  // namespace voltpile::llm
