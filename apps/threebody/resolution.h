// Checks whether floating-point numbers are fine enough for a job: zooming into a map takes smaller and
// smaller shifts and spacings, until the picture shows only rounding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "threebody/problem.h"

namespace voltpile::threebody {

// Returns warnings for the user, to print before computing, which name the frames of a movie; empty if all is
// well. A movie also warns from which frame on no pair parts in time. frames: 1 without any. frame_points: of
// each.
std::vector<std::string> frame_warnings(const Problem& problem, std::int64_t frames,
                                        std::int64_t frame_points);

}  // namespace voltpile::threebody
