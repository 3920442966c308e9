// Mandelbrot sets at depths where FP64 cannot tell the points apart: each point is followed as its difference
// from the orbit of the center, which FP64 holds with 53 bits however small it is.
#pragma once

#include <cstddef>

#include "rootmap/state.h"

namespace voltpile::rootmap {
inline namespace VOLTPILE_TARGET {

// A point at c = center + offset, at the start.
struct PerturbedPoint {
    State<double> s = {};
    Complex<double> difference = {0, 0};  // of s.z from the orbit
    Complex<double> reference = {0, 0};   // the orbit at `place`
    std::int32_t place = 0;
};

// One iteration. With z = Z + d, Z of the orbit: d -> (2 Z + d) d + offset. Where d would exceed z itself, or
// the orbit ends, z becomes the difference from the orbit's first point, 0 (rebasing, which avoids the
// glitches of a single reference). Given: has the members orbit, orbit_steps and want_distance of a Problem.
template <class Given>
VOLTPILE_HD void step_perturbed(const Given& problem, Complex<double> offset, PerturbedPoint& point) {
    State<double>& s = point.s;
    if (problem.want_distance) {
        const Complex<double> product = s.z * s.other;
        s.other = {product.x + product.x + 1.0, product.y + product.y};
    }
    const Complex<double> d =
        (point.reference + point.reference + point.difference) * point.difference + offset;
    ++point.place;
    const double* const orbit = problem.orbit + 2 * static_cast<std::ptrdiff_t>(point.place);
    point.reference = {orbit[0], orbit[1]};
    point.difference = d;
    s.z = point.reference + d;
    s.measure = squared_length(s.z);
    if (s.measure < squared_length(d) || point.place == problem.orbit_steps) {
        point.difference = s.z;
        point.reference = {0, 0};
        point.place = 0;
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::rootmap
