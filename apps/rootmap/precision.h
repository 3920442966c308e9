// Says where floating-point numbers or the budget of iterations do not suffice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rootmap/problem.h"

namespace voltpile::rootmap {

// Returns what the user should know about the spacing of the sweep's points and the tolerance, and of a movie
// also from which frame on no point ends in time. frames: 1 without any. frame_points: of each.
std::vector<std::string> frame_warnings(const Problem& problem, std::int64_t frames,
                                        std::int64_t frame_points);

}  // namespace voltpile::rootmap
