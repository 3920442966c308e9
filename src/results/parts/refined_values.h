// Reads what decides where a sweep refines its grid, from the parts of an unfinished result.
#pragma once

#include <filesystem>
#include <vector>

#include "results/result_layout.h"
#include "work/refined_order.h"

namespace voltpile {

// The positions of a refined layout.
RefinedOrder refined_order(const ResultLayout& layout);

// Returns the values of the field that [refine] names over the positions of a level, as RefinedPicture takes
// them. Throws FileError if parts are missing or cannot be read.
std::vector<double> read_level(const std::filesystem::path& parts, const ResultLayout& layout,
                               WorkRange positions);

}  // namespace voltpile
