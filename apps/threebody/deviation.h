// How fast a small deviation grows: the largest Lyapunov exponent and MEGNO (P. M. Cincotta, C. Simo, Astron.
// Astrophys. Suppl. 147, 205, 2000), from a twin that is brought back near the first system after every step
// (G. Benettin, L. Galgani, J.-M. Strelcyn, Phys. Rev. A 14, 2338, 1976).
//
// The deviation's size is the norm of all twelve differences of relative positions and velocities, in the
// job's units. Bringing the twin back multiplies them with a power of 2, which rounds nothing, so that the
// size is about 2^-27 of the norm of the coordinates themselves: the rounding of a step is 1e-8 of the
// deviation then, and so are its terms of second order.
#pragma once

#include "sweep/logarithm.h"
#include "threebody/relative_motion.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// The deviation's size d, and integrals over time.
template <class Real>
struct Deviation {
    Real squared;   // d^2, since the twin was last brought back
    Real growth;    // of d'/d: ln(d / d0)
    Real weighted;  // of t d'/d; MEGNO is 2/t of it
    Real megno;     // of MEGNO
};

// Returns the squared norm of a - b in positions and velocities.
template <class Real>
VOLTPILE_HD Real squared_deviation(const RelativeMotion<Real>& a, const RelativeMotion<Real>& b) {
    Real sum = (a.x[0] - b.x[0]) * (a.x[0] - b.x[0]);
    VOLTPILE_UNROLL
    for (int c = 1; c < 6; ++c) sum = fma(a.x[c] - b.x[c], a.x[c] - b.x[c], sum);
    VOLTPILE_UNROLL
    for (int c = 0; c < 6; ++c) sum = fma(a.v[c] - b.v[c], a.v[c] - b.v[c], sum);
    return sum;
}

// Returns the factor that makes a deviation of the given squared size as large as it should be at `motion`.
template <class Real>
VOLTPILE_HD Real deviation_factor(const RelativeMotion<Real>& motion, Real squared_deviation) {
    Real norm = motion.x[0] * motion.x[0];
    VOLTPILE_UNROLL
    for (int c = 1; c < 6; ++c) norm = fma(motion.x[c], motion.x[c], norm);
    VOLTPILE_UNROLL
    for (int c = 0; c < 6; ++c) norm = fma(motion.v[c], motion.v[c], norm);
    constexpr double usual = 5.5511151231257827e-17;  // 2^-54
    return inverse_root_power(squared_deviation / (norm * real<Real>(usual)));
}

template <class Real>
VOLTPILE_HD void scale_deviation(const Real (&first)[6], Real (&twin)[6], Real factor) {
    VOLTPILE_UNROLL
    for (int c = 0; c < 6; ++c) twin[c] = fma(factor, twin[c] - first[c], first[c]);
}

// Brings the twin near the first system at the start. Accelerations stay as they are.
template <class Real>
VOLTPILE_HD void start_deviation(const RelativeMotion<Real>& first, RelativeMotion<Real>& twin) {
    const Real factor = deviation_factor(first, squared_deviation(first, twin));
    scale_deviation(first.x, twin.x, factor);
    scale_deviation(first.v, twin.v, factor);
}

// first, twin: at the start, after start_deviation.
template <class Real>
VOLTPILE_HD Deviation<Real> no_growth(const RelativeMotion<Real>& first, const RelativeMotion<Real>& twin) {
    const Real zero = real<Real>(0);
    return {squared_deviation(first, twin), zero, zero, zero};
}

// Adds the growth in a step of length h that has ended at `time`, and brings the twin back. taken: 1, or 0 in
// lanes that stay as they are.
template <class Real>
VOLTPILE_HD void note_deviation(Deviation<Real>& sums, const RelativeMotion<Real>& first,
                                RelativeMotion<Real>& twin, Real time, Real h, Real taken) {
    const Real zero = real<Real>(0);
    const Real half = real<Real>(0.5);
    const Real after = squared_deviation(first, twin);
    const Real growth = half * logarithm(after / sums.squared);
    const Real weighted = fma(growth, time - half * h, sums.weighted);
    // Half of MEGNO at both ends of the step; at time 0 it is 0.
    const Real begin = time - h;
    const Real megno_before = select_below(zero, begin, sums.weighted / begin, zero);
    const Real megno_after = weighted / time;
    sums.growth = select_below(zero, taken, sums.growth + growth, sums.growth);
    sums.weighted = select_below(zero, taken, weighted, sums.weighted);
    sums.megno = select_below(zero, taken, fma(h, megno_before + megno_after, sums.megno), sums.megno);
    RelativeMotion<Real> near = twin;
    const Real factor = deviation_factor(first, after);
    scale_deviation(first.x, near.x, factor);
    scale_deviation(first.v, near.v, factor);
    scale_deviation(first.a, near.a, factor);
    VOLTPILE_UNROLL
    for (int c = 0; c < 6; ++c) {
        twin.x[c] = select_below(zero, taken, near.x[c], twin.x[c]);
        twin.v[c] = select_below(zero, taken, near.v[c], twin.v[c]);
        twin.a[c] = select_below(zero, taken, near.a[c], twin.a[c]);
    }
    sums.squared = squared_deviation(first, twin);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
