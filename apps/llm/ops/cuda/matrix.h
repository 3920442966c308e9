// A matrix of weights as the GPU's kernels read it: planes of 16 bytes a lane, repacked at loading.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/gpu_memory.h"
#include "llm/model/weight_format.h"

namespace voltpile::llm {

// Rows are taken in groups of 4, columns in units of 32 (a sub-block of every quantized format). Let
// gu = group * (columns / 32) + unit, gs = group * (columns / 256) + unit / 8, and j the row in its group.
//   quants  F16           fp16 (rows, columns)
//           Q8_0          int8 (rows, columns)
//           4, 5, 6 bits  16 bytes a unit: byte b has the low 4 bits of weight b, above them those of 16 + b
//   high    Q5_K          uint32 at gu * 4 + j; weight 16 n + 4 i + b has its fifth bit at 8 b + 2 i + n
//           Q6_K          2 uint32 at (gu * 4 + j) * 2; weight 16 n + 4 i + b has its two high bits in word i
//           / 2
//                         at 8 b + 4 (i % 2) + 2 n
//   scales  Q8_0, Q4_0    fp16 at gu * 4 + j
//           Q4_K, Q5_K    uint8 scale and minimum at (gu * 4 + j) * 2
//           Q6_K          int8 scales of the unit's halves at (gu * 4 + j) * 2
//   super   Q4_K, Q5_K    fp16 d and dmin at (gs * 4 + j) * 2
//           Q6_K          fp16 d at gs * 4 + j
// F32 and BF16 matrices become F16. Rows are padded to 4 and F16's columns to 32 with zeros.
struct DeviceMatrix {
    WeightFormat format = WeightFormat::F16;
    int rows = 0;
    int columns = 0;  // padded
    const std::uint8_t* quants = nullptr;
    const std::uint8_t* high = nullptr;
    const std::uint8_t* scales = nullptr;
    const std::uint8_t* super = nullptr;
};

constexpr int groups_of(int rows) {
    return (rows + rows_in_group - 1) / rows_in_group;
}

}  // namespace voltpile::llm
