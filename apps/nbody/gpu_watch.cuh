// What is watched along a path by the lanes of its bodies (path.h).
#pragma once

#include "nbody/adaptive_path.h"
#include "nbody/gpu_body_group.cuh"
#include "nbody/path.h"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// What a lane watches: the encounters of its body with those up to half of the circle ahead, and whether its
// body escapes.
struct BodyWatch {
    Encounter<double> closest;
    EscapeNumbers escape;
};

// All lanes of the warp call its functions together.
struct GroupWatch {
    static constexpr bool watches = true;
    BodyWatch& watch;
    const BodyForces& forces;
    double escape_distance2;

    // Calls note(other, pair) for each body whose encounters with this lane's are noted here.
    template <class Note>
    VOLTPILE_HD void with_others(const Note& note) const {
        const BodyGroup& group = forces.group;
        for (int ahead = 1; 2 * ahead <= group.bodies; ++ahead) {
            const int other = group.after(ahead);
            const int i = other < group.body ? other : group.body,
                      j = other < group.body ? group.body : other;
            note(other, pair_number(i, j, group.bodies));
        }
    }

    VOLTPILE_HD double squared_distance(int other, const Motion<double, 1>& motion) const {
        const BodyGroup& group = forces.group;
        return squared_length(group.of(other, motion.x[0]) - motion.x[0],
                              group.of(other, motion.x[1]) - motion.x[1],
                              group.of(other, motion.x[2]) - motion.x[2]);
    }

    VOLTPILE_HD void note_distances(const Motion<double, 1>& motion, double time) const {
        with_others([&](int other, int pair) {
            note_distance(watch.closest, squared_distance(other, motion), time, pair);
        });
    }

    VOLTPILE_HD void step(const Motion<double, 1>& from, const Motion<double, 1>& to, double time, double h,
                          double taken) const {
        Encounter<double> closest = watch.closest;
        with_others([&](int other, int pair) {
            const BodyGroup& group = forces.group;
            double d0[3], d1[3], v0[3], v1[3], a0[3], a1[3];
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                d0[c] = group.of(other, from.x[c]) - from.x[c], d1[c] = group.of(other, to.x[c]) - to.x[c];
                v0[c] = group.of(other, from.v[c]) - from.v[c], v1[c] = group.of(other, to.v[c]) - to.v[c];
                a0[c] = group.of(other, from.a[c]) - from.a[c], a1[c] = group.of(other, to.a[c]) - to.a[c];
            }
            note_approach(closest, d0, d1, v0, v1, a0, a1, time, h, pair);
        });
        if (taken > 0) watch.closest = closest;
    }

    VOLTPILE_HD double escaped(const Motion<double, 1>& motion) const {
        const BodyGroup& group = forces.group;
        EscapeView<double> view = {forces.mass,
                                   watch.escape.share,
                                   watch.escape.speed2,
                                   __builtin_inf(),
                                   {motion.x[0], motion.x[1], motion.x[2]},
                                   {motion.v[0], motion.v[1], motion.v[2]}};
        double x[3] = {}, v[3] = {};  // sums over all bodies, times their masses
        for (int i = 0; i < group.bodies; ++i) {
            const double mass = group.of(i, forces.mass);
            const double r2 = squared_distance(i, motion);
            if (i != group.body) view.nearest2 = smaller(r2, view.nearest2);
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                x[c] = fma(mass, group.of(i, motion.x[c]), x[c]);
                v[c] = fma(mass, group.of(i, motion.v[c]), v[c]);
            }
        }
        const double number = nbody::escaped(group.body, view, x, v, forces.potential, escape_distance2);
        const unsigned who = group.where(number > 0);
        return who == 0 ? 0.0 : static_cast<double>(first_bit(who) + 1);
    }

    VOLTPILE_HD double closest_squared() const {
        return forces.group.smallest(watch.closest.squared_distance);
    }

  private:
    static VOLTPILE_HD int first_bit(unsigned bits) {
#if defined(__CUDA_ARCH__)
        return __ffs(static_cast<int>(bits)) - 1;
#else
        return __builtin_ctz(bits);
#endif
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
