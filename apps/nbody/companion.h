// What a SIMD lane follows besides the path of a point: nothing, a small deviation from it (deviation.h) or a
// twin (twin.h). Such a companion has as many coordinates as the path. Both lie in one Motion, so that the
// integrators need no code for companions: the bodies of the path come first.
#pragma once

#include "nbody/adaptive_path.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// The forces on both halves of a Motion. Second: says what the second half is; it has
//   static void accelerate(x, forces, a)   as accelerations(), of both halves
template <class Real, int bodies, class Second>
struct CompanionForces : Forces<Real, bodies> {};

template <int half, int numbers, class Real>
VOLTPILE_HD Real (&half_of(Real (&array)[numbers]))[numbers / 2] {
    return *reinterpret_cast<Real(*)[numbers / 2]>(array + half * (numbers / 2));
}

template <class Real, int bodies, class Second, int numbers>
VOLTPILE_HD void accelerations(const Real (&x)[numbers], const CompanionForces<Real, bodies, Second>& forces,
                               Real (&a)[numbers]) {
    static_assert(numbers == 6 * bodies);
    Second::accelerate(x, forces, a);
}

// Returns the larger one of the errors of both halves, NaN if one is.
template <class Real, int moving, int bodies, class Second>
VOLTPILE_HD Real squared_relative_error(const Motion<Real, moving>& from, const Motion<Real, moving>& to,
                                        const Real (&error)[3 * moving],
                                        const CompanionForces<Real, bodies, Second>&) {
    Real of_half[2];
    VOLTPILE_UNROLL
    for (int half = 0; half < 2; ++half) {
        Real squared = real<Real>(0);
        Real scale = real<Real>(1e-290);
        VOLTPILE_UNROLL
        for (int c = 3 * bodies * half; c < 3 * bodies * (half + 1); ++c) {
            squared = fma(error[c], error[c], squared);
            scale = fma(from.v[c], from.v[c], fma(to.v[c], to.v[c], scale));
        }
        of_half[half] = squared / scale;
    }
    // `larger` returns its second argument if one is NaN.
    return larger(of_half[0], of_half[1]) + real<Real>(0) * of_half[0];
}

// The companion of a path without one, with the members that all have. It costs nothing.
template <class Real, int bodies>
class NoCompanion {
  public:
    static constexpr int moving = bodies;    // bodies of a Motion, the companion's included
    static constexpr bool parts = false;     // whether it has the other members of Twin, too
    using AllForces = Forces<Real, bodies>;  // on them

    VOLTPILE_HD explicit NoCompanion(const Problem&) {}

    // Sets the companion of a lane to the start of a point.
    VOLTPILE_HD void begin(std::int64_t, int, Motion<Real, moving>&) {}
    // Starts the lanes `filled`, whose accelerations are computed.
    VOLTPILE_HD void start(unsigned, const Motion<Real, moving>&) {}
    // Notes what happened from `before` to `time`; nothing in lanes where these are equal.
    VOLTPILE_HD void note(Motion<Real, moving>&, Real, Real) {}
    // Sets the companion's part of the end of a lane's point; the rest is set.
    VOLTPILE_HD void set_end(int, PathEnd&) const {}
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
