// The layout of a weight matrix in GPU memory. Loading repacks it into planes, so that each lane loads 16
// bytes of quants at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/model/gpu_memory.h"
#include "llm/model/weight_format_list.h"

namespace voltpile::llm {

// Rows form groups of 4 and columns form units of 32, a sub-block of every quantized format. Let
// gu = group * (columns / 32) + unit, gs = group * (columns / 256) + unit / 8, and j the row in its group.
// The list of formats says how many bytes of each plane a unit of a row has (UnitBytes), and the header of a
// format in formats/ what they are: one of the following, or numbers at gu * 4 + j or gs * 4 + j, or in
// formats with blocks of 64 weights at (group * (columns / 64) + unit / 2) * 4 + j.
//   quants  F16      fp16 (rows, columns)
//           int8     (rows, columns)
//           nibbles  16 bytes per unit: byte b has the low 4 bits of weight b in its low nibble and those of
//                    weight 16 + b in its high nibble
//           codes    16 bytes per unit: nibbles 0 to 3 of word i have the codes of weights 4 i to 4 i + 3,
//                    nibbles 4 to 7 those of weights 16 + 4 i to 16 + 4 i + 3
//           pairs    2 uint32 at (gu * 4 + j) * 2, the two low bits of each weight; the bits of weight
//                    16 n + 4 i + b begin at bit 8 b + 4 (i % 2) + 2 n of word i / 2
//   high    bits     uint32 at gu * 4 + j; the highest bit of weight 16 n + 4 i + b is bit 8 b + 2 i + n
//           pairs    2 uint32 at (gu * 4 + j) * 2, the two high bits of each weight, in the order above
// Quants of a row are contiguous if a unit of it has 16 bytes or more. Matrices in formats without kernels
// are converted (gpu_format()). Zeros pad rows to a multiple of 4 and columns of F16 to a multiple of 32. The
// struct does not own its planes.
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
