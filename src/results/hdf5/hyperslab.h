// Cuts consecutive values of a row-major array into boxes, which HDF5 reads and writes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "work/work_range.h"

namespace voltpile {

// A box: where it starts and how long it is in each dimension, slowest first.
struct Hyperslab {
    std::vector<std::uint64_t> start;
    std::vector<std::uint64_t> count;
};

// Returns the flattened points [range.begin, range.end) of an array with these dimensions (slowest first) as
// boxes, in order: at most 2 * rank - 1. Without dimensions it returns one box of rank 0, for the single
// point.
std::vector<Hyperslab> hyperslabs(std::span<const std::uint64_t> dims, WorkRange range);

}  // namespace voltpile
