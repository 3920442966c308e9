// A run of consecutive values of a row-major array as boxes, which is what HDF5 reads and writes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "work/work_range.h"

namespace voltpile {

// A box: per dimension, slowest first, where it starts and how many it takes.
struct Hyperslab {
    std::vector<std::uint64_t> start;
    std::vector<std::uint64_t> count;
};

// The flattened points [range.begin, range.end) of an array with these dimensions (slowest first), in order:
// at most 2 * rank - 1 boxes. No dimensions: one box of rank 0 for the single point.
std::vector<Hyperslab> hyperslabs(std::span<const std::uint64_t> dims, WorkRange range);

}  // namespace voltpile
