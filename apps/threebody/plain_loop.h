// The published recurrence in its most direct form: one pair after the other, each body sums the forces of
// the two others, with square roots and divisions as in the formula. The reference for the kernels' speed and
// results.
#pragma once

#include <cstdint>

namespace voltpile::threebody {

struct PlainSystem {
    double x[3][3];
    double v[3][3];
};

// Returns the number of steps during which the two stay within `separation` of each other.
std::int64_t plain_steps_together(PlainSystem first, PlainSystem twin, double G, const double (&mass)[3],
                                  double dt, std::int64_t steps, double separation);

}  // namespace voltpile::threebody
