// The layout of a weight matrix in GPU memory. Loading repacks it into planes, so that each lane loads 16
// bytes of quants at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/gpu_memory.h"
#include "llm/model/weight_format_enum.h"

namespace voltpile::llm {

// Rows form groups of 4 and columns form units of 32, a sub-block of every quantized format. Let
// gu = group * (columns / 32) + unit, gs = group * (columns / 256) + unit / 8, and j the row in its group.
//   quants  F16           fp16 (rows, columns)
//           Q8_0          int8 (rows, columns)
//           4, 5, 6 bits  16 bytes per unit: byte b has the low 4 bits of weight b in its low nibble and
//                         those of weight 16 + b in its high nibble
//           MXFP4, IQ4_NL, IQ4_XS
//                         16 bytes per unit: nibbles 0 to 3 of word i have the codes of weights 4 i to
//                         4 i + 3, nibbles 4 to 7 those of weights 16 + 4 i to 16 + 4 i + 3
//           Q3_K, Q2_K    2 uint32 at (gu * 4 + j) * 2, the two low bits of each weight as in Q6_K's `high`
//           IQ2, IQ3      uint32 at gu * 4 + j, or 2 at (gu * 4 + j) * 2: indices (grids/bits.h)
//   high    Q5_K, Q5_1, Q3_K
//                         uint32 at gu * 4 + j; the highest bit of weight 16 n + 4 i + b is bit 8 b + 2 i + n
//           Q6_K          2 uint32 at (gu * 4 + j) * 2; the two high bits of weight 16 n + 4 i + b begin at
//                         bit 8 b + 4 (i % 2) + 2 n of word i / 2
//           IQ2, IQ3      uint32 at gu * 4 + j: signs (grids/bits.h)
//   scales  Q8_0, Q4_0, IQ4_NL
//                         fp16 at gu * 4 + j
//           Q5_1          fp16 scale and minimum at (gu * 4 + j) * 2
//           Q4_K, Q5_K    uint8 scale and minimum at (gu * 4 + j) * 2
//           Q6_K, Q3_K    int8 scales of the unit's halves at (gu * 4 + j) * 2
//           Q2_K          the same, with a scale in the low nibble and a minimum in the high nibble
//           MXFP4         uint8 exponent at gu * 4 + j
//           IQ4_XS        int8 scale at gu * 4 + j
//           IQ2, IQ3      uint16 at gu * 4 + j: scales and the rest of the indices (grids/bits.h)
//   super   Q4_K, Q5_K, Q2_K
//                         fp16 d and dmin at (gs * 4 + j) * 2
//           Q6_K, Q3_K, IQ4_XS, IQ2, IQ3
//                         fp16 d at gs * 4 + j
// IQ2 is IQ2_XXS, IQ2_XS and IQ2_S, IQ3 is IQ3_XXS and IQ3_S: one layout with two or three grids
// (gpu_layout()). Matrices in other formats are converted to one of these (gpu_format()). Zeros pad rows to a
// multiple of 4 and columns of F16 to a multiple of 32. The struct does not own its planes.
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
