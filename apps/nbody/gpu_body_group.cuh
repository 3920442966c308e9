// The neighboring lanes of a GPU warp that share a point: each of them has one of its bodies. A point of n
// bodies takes n lanes, so a warp has 32 / n points, and a few idle lanes unless n is 2, 4 or 8.
#pragma once

#include <cuda_runtime.h>

#include "nbody/forces.h"
#include "sweep/gpu_packing.cuh"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// All lanes of the warp call its functions together. Those of hosts do nothing: integrators are compiled for
// both.
struct BodyGroup {
    int bodies;
    int body;   // of this lane: 0, 1, ...
    int first;  // the lane of body 0

    __device__ __forceinline__ explicit BodyGroup(int count) : bodies(count) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        body = lane % count;
        first = lane - body;
    }

    // Returns the body that comes `steps` after this one, 1 - bodies to bodies - 1, in a circle.
    VOLTPILE_HD int after(int steps) const {
        const int other = body + steps;
        return other < 0 ? other + bodies : other >= bodies ? other - bodies : other;
    }

    // Returns another body's x.
    VOLTPILE_HD double of(int other, double x) const {
#if defined(__CUDA_ARCH__)
        return __shfl_sync(full_warp, x, first + other);
#else
        static_cast<void>(other);
        return x;
#endif
    }

    // Returns the bodies for which `holds` is true, one bit each.
    VOLTPILE_HD unsigned where(bool holds) const {
#if defined(__CUDA_ARCH__)
        return __ballot_sync(full_warp, holds) >> first & ((1U << bodies) - 1);
#else
        return holds ? 1 : 0;
#endif
    }
    VOLTPILE_HD bool any(bool holds) const {
        return where(holds) != 0;
    }

    // The same bits in all lanes of the group.
    VOLTPILE_HD double total(double x) const {
        double sum = of(0, x);
        for (int i = 1; i < bodies; ++i) sum = sum + of(i, x);
        return sum;
    }
    VOLTPILE_HD double smallest(double x) const {
        double least = of(0, x);
        for (int i = 1; i < bodies; ++i) least = smaller(of(i, x), least);
        return least;
    }
};

// What acts on the body of a lane. Every two bodies compute their attraction in the lane of one of them,
// which sends it to the other: n bodies in a circle, each with those up to half of the circle ahead. Two
// bodies opposite each other compute it both.
struct BodyForces {
    static constexpr int most_ahead = kMostBodies / 2;

    const BodyGroup& group;
    const Gravity<double>& gravity;
    double mass;
    const double (&masses)[most_ahead];  // of the bodies 1, 2, ... ahead
    Potential potential;
    const Center<double>& center;

    VOLTPILE_HD double total(double x) const { return group.total(x); }
};

// Computes the acceleration of each lane's body; see forces.h.
template <int numbers>
VOLTPILE_HD void accelerations(const double (&x)[numbers], const BodyForces& forces, double (&a)[numbers]) {
    static_assert(numbers == 3, "one body in a lane");
    const BodyGroup& group = forces.group;
    VOLTPILE_UNROLL
    for (int c = 0; c < 3; ++c) a[c] = 0;
    if (forces.potential != Potential::None) {
        const double pull = pull_of_center(forces.potential, forces.center, squared_length(x[0], x[1], x[2]));
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) a[c] = -(pull * x[c]);
    }
    VOLTPILE_UNROLL
    for (int ahead = 1; ahead <= BodyForces::most_ahead; ++ahead) {
        if (2 * ahead > group.bodies) break;
        const int other = group.after(ahead);
        double d[3];
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) d[c] = group.of(other, x[c]) - x[c];
        const double pull = pull_of_body(forces.gravity, d);
        const double here = pull * forces.masses[ahead - 1];
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) a[c] = fma(here, d[c], a[c]);
        if (2 * ahead == group.bodies) break;
        const int behind = group.after(-ahead);
        const double there = pull * forces.mass;
        VOLTPILE_UNROLL
        for (int c = 0; c < 3; ++c) a[c] = a[c] - group.of(behind, there * d[c]);
    }
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
