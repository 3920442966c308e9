// The published recurrence as anybody would first write it: one pair after the other, every body adding up
// the pulls of the two others, square roots and divisions as in the formula. What the kernels are compared
// with, in speed and in result.
#pragma once

#include <cstdint>

namespace voltpile::threebody {

struct PlainSystem {
    double x[3][3];
    double v[3][3];
};

// The number of steps that the two stay within `separation` of each other.
std::int64_t plain_steps_together(PlainSystem first, PlainSystem twin, double G, const double (&mass)[3],
                                  double dt, std::int64_t steps, double separation);

}  // namespace voltpile::threebody
