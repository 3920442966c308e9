// Three bodies as a chain: the positions of two bodies relative to the third, which is the one between them,
// not at an end of the longest side. A short side is then a coordinate itself, with all of its digits, and
// only the longest one is a difference. With positions relative to body 1 an encounter of bodies 2 and 3 at a
// distance r loses as many digits as r is smaller than the system.
#pragma once

#include "sweep/select.h"
#include "threebody/relative_motion.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// The body in the center is 1, 2 or 3 if `center` is 0, 1 or 2. The first three coordinates are those of the
// next body (1 comes after 3), the others those of the one after it. Accelerations are
// not set.
template <class Real>
struct ChainMotion : RelativeMotion<Real> {
    Real center;
};

// Returns the value that belongs to the center.
template <class Real>
VOLTPILE_HD Real at_center(Real center, Real body1, Real body2, Real body3) {
    return select_below(center, real<Real>(0.5), body1, select_below(center, real<Real>(1.5), body2, body3));
}

template <class Real>
VOLTPILE_HD void set_center(RelativeMotion<Real>&, Real) {}
template <class Real>
VOLTPILE_HD void set_center(ChainMotion<Real>& motion, Real center) {
    motion.center = center;
}
template <class Real>
VOLTPILE_HD Real center_of(const RelativeMotion<Real>&) {
    return real<Real>(0);
}
template <class Real>
VOLTPILE_HD Real center_of(const ChainMotion<Real>& motion) {
    return motion.center;
}

// Takes the motion at the end of a step in lanes where `taken` is 1 and not 0.
template <class Real>
VOLTPILE_HD void take(Real taken, const Real (&to)[6], Real (&motion)[6]) {
    VOLTPILE_UNROLL
    for (int c = 0; c < 6; ++c) motion[c] = select_below(real<Real>(0), taken, to[c], motion[c]);
}
template <class Real>
VOLTPILE_HD void take(Real taken, const RelativeMotion<Real>& to, RelativeMotion<Real>& motion) {
    take(taken, to.x, motion.x);
    take(taken, to.v, motion.v);
    take(taken, to.a, motion.a);
}
template <class Real>
VOLTPILE_HD void take(Real taken, const ChainMotion<Real>& to, ChainMotion<Real>& motion) {
    take(taken, to.x, motion.x);
    take(taken, to.v, motion.v);
}

// Masses as accelerations() needs them, in the order of the chain.
template <class Real>
struct ChainMasses {
    const Real (&gravity)[InverseCube<Real>::terms];
    Real mass2, mass3, mass12, mass13;
};

template <class Real>
VOLTPILE_HD const PairConstants<Real>& masses_of(const RelativeMotion<Real>&,
                                                 const PairConstants<Real>& constants) {
    return constants;
}
template <class Real>
VOLTPILE_HD ChainMasses<Real> masses_of(const ChainMotion<Real>& motion, const PairConstants<Real>& c) {
    const Real mass23 = c.mass2 + c.mass3;
    return {c.gravity, at_center(motion.center, c.mass2, c.mass3, c.mass1),
            at_center(motion.center, c.mass3, c.mass1, c.mass2),
            at_center(motion.center, c.mass12, mass23, c.mass13),
            at_center(motion.center, c.mass13, c.mass12, mass23)};
}

// Expresses p and q, relative to the center, relative to the body of q (to_second) or of p.
template <class Real>
VOLTPILE_HD void shift_center(Real (&of)[6], Real moves, Real to_second) {
    const Real zero = real<Real>(0);
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) {
        const Real p = of[c];
        const Real q = of[3 + c];
        const Real first = select_below(zero, to_second, -q, q - p);
        const Real second = select_below(zero, to_second, p - q, -p);
        of[c] = select_below(zero, moves, first, p);
        of[3 + c] = select_below(zero, moves, second, q);
    }
}

template <class Real>
VOLTPILE_HD void choose_center(RelativeMotion<Real>&) {}

// Moves the center to another body if the longest side begins at it. Sides of similar length stay as they
// are.
template <class Real>
VOLTPILE_HD void choose_center(ChainMotion<Real>& motion) {
    const Real zero = real<Real>(0);
    const Real one = real<Real>(1);
    const Real three = real<Real>(3);
    const Real(&x)[6] = motion.x;
    const Real r12 = squared_length(x[0], x[1], x[2]);
    const Real r13 = squared_length(x[3], x[4], x[5]);
    const Real r23 = squared_length(x[3] - x[0], x[4] - x[1], x[5] - x[2]) * real<Real>(2);
    const Real longest = larger(r12, r13);
    if (!any_below(r23, longest)) return;
    const Real moves = select_below(r23, longest, one, zero);
    const Real to_second = select_below(r13, r12, one, zero);
    shift_center(motion.x, moves, to_second);
    shift_center(motion.v, moves, to_second);
    const Real next = motion.center + moves * (one + to_second);
    motion.center = select_below(next, three, next, next - three);
}

// The position of body 1 relative to the center of mass is part2 x2 + part3 x3.
template <class Real>
struct FirstBodyParts {
    Real part2, part3;
};

template <class Real>
VOLTPILE_HD FirstBodyParts<Real> first_body_parts(const ChainMotion<Real>& motion,
                                                  const PairConstants<Real>& c) {
    const Real rest = c.part2 + c.part3;
    return {at_center(motion.center, -c.part2, -c.part3, rest),
            at_center(motion.center, -c.part3, rest, -c.part2)};
}

// Expresses coordinates of a chain relative to body 1.
template <class Real>
VOLTPILE_HD void move_to_body_1(Real center, Real (&of)[6]) {
    shift_center(of, center, select_below(center, real<Real>(1.5), real<Real>(1), real<Real>(0)));
}

// Returns the motion relative to body 1, with accelerations.
template <class Real>
VOLTPILE_HD const RelativeMotion<Real>& relative_to_body_1(const RelativeMotion<Real>& motion,
                                                           const PairConstants<Real>&) {
    return motion;
}
template <class Real>
VOLTPILE_HD RelativeMotion<Real> relative_to_body_1(const ChainMotion<Real>& motion,
                                                    const PairConstants<Real>& constants) {
    RelativeMotion<Real> result = motion;
    accelerations(motion.x, masses_of(motion, constants), result.a);
    move_to_body_1(motion.center, result.x);
    move_to_body_1(motion.center, result.v);
    move_to_body_1(motion.center, result.a);
    return result;
}

template <class Real>
VOLTPILE_HD void set_relative_to_body_1(const RelativeMotion<Real>& from, ChainMotion<Real>& to) {
    VOLTPILE_UNROLL
    for (int c = 0; c < 6; ++c) {
        to.x[c] = from.x[c];
        to.v[c] = from.v[c];
    }
    to.center = real<Real>(0);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
