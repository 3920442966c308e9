// The CPU kernel: each SIMD lane integrates one pair of systems and takes a new pair as soon as one is
// decided. Compiled once for each CpuLevel.
#pragma once

#include "threebody/diagnostics.h"
#include "threebody/integrators/euler.h"
#include "threebody/integrators/leapfrog.h"
#include "threebody/integrators/rk4.h"
#include "threebody/integrators/yoshida4.h"
#include "threebody/parameters.h"
#include "threebody/point_stream.h"
#include "threebody/simd_inverse_cube.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

template <class Real>
VOLTPILE_HD void copy_lane(const System<Real>& from, System<Real>& to, int lane) {
    for (int i = 0; i < 3; ++i) {
        for (int c = 0; c < 3; ++c) {
            to.x[i][c].v[lane] = from.x[i][c].v[lane];
            to.p[i][c].v[lane] = from.p[i][c].v[lane];
        }
    }
}

template <class Real>
struct AssignLane {
    int lane;
    VOLTPILE_HD void operator()(Real& where, double value) const {
        where.set_lane(lane, static_cast<typename Real::Scalar>(value));
    }
};

template <class Integrator, class Scalar, bool closest>
class CpuKernel {
    using Real = Simd<Scalar>;
    static constexpr int lanes = Real::lanes;
    static constexpr int longest_stretch =
        4096;  // steps until idle lanes ask again and the kernel reports its work
    static constexpr unsigned all_lanes = (1U << (lanes - 1) << 1) - 1U;

  public:
    VOLTPILE_HD CpuKernel(const Problem& problem, PointStream& stream)
        : problem_(problem), stream_(stream), limit_(problem.separation * problem.separation) {}

    // Returns when neither the lanes nor the stream have a point left, or when the stream stops it.
    VOLTPILE_HD void run() {
        constexpr std::int64_t steps_between_reports = 1 << 18;
        std::int64_t steps = 0;
        refill();
        while (active_ != 0) {
            steps += advance();
            if (decide() || active_ != all_lanes) refill();
            if (steps >= steps_between_reports) {
                steps = 0;
                if (!report()) return;
            }
        }
        report();
    }

  private:
    struct Lane {
        Ticket ticket;
        Parameters parameters;
        std::int32_t steps = 0;
        std::int32_t state = 0;  // steps done
    };

    // Takes points for idle lanes and starts them.
    VOLTPILE_HD void refill() {
        unsigned filled = 0;
        System<Real> first, twin;
        for (int i = 0; i < lanes; ++i) {
            if ((active_ >> i & 1U) != 0) continue;
            Lane& lane = lane_[i];
            if (!stream_.draw(lane.ticket)) break;
            filled |= 1U << i;
            lane.parameters = parameters_at(problem_, lane.ticket.point);
            lane.steps = step_count(lane.parameters);
            lane.state = 0;
            closest_squared_.set_lane(i, static_cast<Scalar>(__builtin_inf()));
            set_step_constants(lane.parameters, constants_, AssignLane<Real>{i});
            System<Scalar> a, b;
            initial_pair(lane.parameters, a, b);
            for (int body = 0; body < 3; ++body) {
                for (int c = 0; c < 3; ++c) {
                    first.x[body][c].set_lane(i, a.x[body][c]);
                    first.p[body][c].set_lane(i, a.p[body][c]);
                    twin.x[body][c].set_lane(i, b.x[body][c]);
                    twin.p[body][c].set_lane(i, b.p[body][c]);
                }
            }
        }
        if (filled == 0) return;
        Integrator::start(first, constants_);
        Integrator::start(twin, constants_);
        for (int i = 0; i < lanes; ++i) {
            if ((filled >> i & 1U) == 0) continue;
            copy_lane(first, first_, i);
            copy_lane(twin, twin_, i);
        }
        active_ |= filled;
    }

    // Advances all lanes together until one is decided, at most for the longest stretch. Returns the steps
    // done.
    VOLTPILE_HD int advance() {
        int stretch = longest_stretch;
        for (int i = 0; i < lanes; ++i) {
            const int left = lane_[i].steps - lane_[i].state;
            if ((active_ >> i & 1U) != 0 && left < stretch) stretch = left;
        }
        System<Real> first = first_;
        System<Real> twin = twin_;
        Real closest_squared = closest_squared_;
        const Real limit(limit_);
        int k = 0;
        for (;; ++k) {
            const Real r2 = squared_length(first.x[0][0] - twin.x[0][0], first.x[0][1] - twin.x[0][1],
                                           first.x[0][2] - twin.x[0][2]);
            together_ = lanes_not_above(r2, limit);
            if constexpr (closest)
                closest_squared = smaller(smallest_squared_distance(first.x), closest_squared);
            if (__builtin_expect(((active_ & ~together_) != 0) | (k == stretch), 0)) break;
            Integrator::step(first, constants_);
            Integrator::step(twin, constants_);
        }
        first_ = first;
        twin_ = twin;
        closest_squared_ = closest_squared;
        for (int i = 0; i < lanes; ++i) {
            if ((active_ >> i & 1U) != 0) lane_[i].state += k;
        }
        pair_steps_ += static_cast<double>(k) * __builtin_popcount(active_);
        return k;
    }

    // Finishes the lanes whose systems have parted or have done all steps. Returns true if there were any.
    VOLTPILE_HD bool decide() {
        unsigned decided = active_ & ~together_;
        for (int i = 0; i < lanes; ++i) {
            if (lane_[i].state >= lane_[i].steps) decided |= active_ & 1U << i;
        }
        if (decided == 0) return false;
        for (int i = 0; i < lanes; ++i) {
            if ((decided >> i & 1U) != 0) finish(i);
        }
        active_ &= ~decided;
        return true;
    }

    VOLTPILE_HD void finish(int i) {
        const Lane& lane = lane_[i];
        Outcome outcome;
        outcome.steps_together = lane.state;
        if constexpr (closest) outcome.closest_approach = square_root(closest_squared_.lane(i));
        if (problem_.want_energy_error || problem_.want_final_state) {
            System<Real> s = first_;
            Integrator::synchronize(s, constants_);
            System<double> state;
            for (int body = 0; body < 3; ++body) {
                for (int c = 0; c < 3; ++c) {
                    state.x[body][c] = s.x[body][c].lane(i);
                    state.p[body][c] = s.p[body][c].lane(i);
                    outcome.final_state[6 * body + c] = state.x[body][c];
                    outcome.final_state[6 * body + 3 + c] = state.p[body][c] / lane.parameters.mass[body];
                }
            }
            if (problem_.want_energy_error) {
                outcome.energy_error = energy_error<Scalar>(lane.parameters, state);
            }
        }
        stream_.finish(lane.ticket, outcome);
    }

    VOLTPILE_HD bool report() {
        const double done = pair_steps_;
        pair_steps_ = 0;
        return stream_.report(done);
    }

    const Problem& problem_;
    PointStream& stream_;
    const double limit_;
    System<Real> first_, twin_;
    StepConstants<Real> constants_;
    Real closest_squared_;
    Lane lane_[lanes];
    unsigned active_ = 0;
    unsigned together_ = 0;
    double pair_steps_ = 0;
};

// Internal to each level's object: the linker must not see any of these symbols.
namespace {

template <class Integrator, class Scalar, bool closest>
__attribute__((noinline)) void sweep_with(const Problem& problem, PointStream& stream) {
    CpuKernel<Integrator, Scalar, closest>(problem, stream).run();
}

template <class Integrator>
void sweep_with(const Problem& problem, PointStream& stream) {
    const bool closest = problem.want_closest_approach;
    if (problem.single_precision) {
        closest ? sweep_with<Integrator, float, true>(problem, stream)
                : sweep_with<Integrator, float, false>(problem, stream);
    } else {
        closest ? sweep_with<Integrator, double, true>(problem, stream)
                : sweep_with<Integrator, double, false>(problem, stream);
    }
}

void sweep(const Problem& problem, PointStream& stream) {
    switch (problem.method) {
        case Method::Euler:
            return sweep_with<Euler>(problem, stream);
        case Method::Leapfrog:
            return sweep_with<Leapfrog>(problem, stream);
        case Method::Yoshida4:
            return sweep_with<Yoshida4>(problem, stream);
        case Method::RungeKutta4:
            return sweep_with<RungeKutta4>(problem, stream);
    }
}

}  // namespace

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
