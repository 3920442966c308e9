// The places of the blocks of a file in the planes of matrix.h.
#pragma once

#include "llm/ops/cuda/repack.h"

namespace voltpile::llm {

struct Place {
    std::int64_t unit, super;
    std::uint8_t* quants;  // 16 bytes
};

// The unit that a thread repacks. index: among all units, in the order of the blocks; part: in its block of
// 256 weights.
struct ThreadUnit {
    std::int64_t index;
    int row, unit, part;
    Place place;
    bool there;  // false for threads beyond the last unit

    __device__ explicit ThreadUnit(const Planes& to)
        : index(static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) {
        const int units = to.columns / 32;
        there = index < static_cast<std::int64_t>(to.rows) * units;
        row = to.first_row + static_cast<int>(index / units);
        unit = static_cast<int>(index % units);
        part = unit % 8;
        const std::int64_t group = row / 4;
        place = {(group * units + unit) * 4 + row % 4, (group * (to.columns / 256) + unit / 8) * 4 + row % 4,
                 to.quants + static_cast<std::int64_t>(row) * (to.columns / 2) + unit * 16};
    }
};

}  // namespace voltpile::llm
