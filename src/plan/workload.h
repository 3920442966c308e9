// How much a job has to do, as its app knows it before anything has run: what estimates and progress are made
// of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "plan/team.h"

namespace voltpile {

struct Workload {
    std::string unit;            // plural, as in "1.2e8 pair-steps/s"
    double units_per_point = 1;  // an upper bound where points may end early
    double flop_per_unit = 1;    // floating-point INSTRUCTIONS (an FMA is one) per unit, of the type below
    bool fp64 = true;            // else fp32
    std::int64_t points = 0;     // of the flattened sweep
    std::int64_t bytes_per_point = 0;    // of result
    std::int64_t most_range_points = 0;  // in a range, if the app wants shorter ones than fit; 0: no limit
    TeamShape team;                      // how many ranks share a point; of a sweep each has its own

    // The most points that a range may have, so that a rank's memory does not grow with the sweep: 32 MB of
    // result.
    std::int64_t largest_range() const {
        const auto fit = std::max<std::int64_t>(1, (32 << 20) / std::max<std::int64_t>(bytes_per_point, 1));
        return most_range_points > 0 ? std::min(fit, most_range_points) : fit;
    }
};

}  // namespace voltpile
