// The field "level" of a finished refined result. Private to src/results.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "results/damage.h"
#include "results/hdf5/handle.h"
#include "results/result_layout.h"

namespace voltpile {

// The root attribute with the number of points that were computed. The caller holds an Hdf5Guard; all
// functions throw FileError.
void write_computed_points(hid_t file, std::int64_t points);
// Returns nothing if the result is not refined.
std::optional<std::int64_t> read_computed_points(hid_t file);

// Compares the levels of all points with the rule: a point has its own level, if it was computed, or that of
// the corner of its cell; and their number with the attribute.
std::vector<Damage> damaged_levels(hid_t file, const ResultLayout& layout);

}  // namespace voltpile
