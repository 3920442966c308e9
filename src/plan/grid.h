// The largest grid that fits where a sweep does not.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "job/job_spec.h"

namespace voltpile {

// Returns whether a grid with these counts, one for each axis, fits. Fewer points must not need more.
using GridFits = std::function<bool(const std::vector<std::int64_t>& counts)>;

// Returns "; the largest grid of this shape that fits has x = 812, y = 406": every axis shortened by the same
// factor, to one point at least. Empty if there are no axes, or not even that fits.
std::string largest_grid_text(std::span<const SweepAxis> axes, const GridFits& fits);

}  // namespace voltpile
