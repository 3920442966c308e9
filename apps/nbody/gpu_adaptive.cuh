// Adaptive methods on a GPU: each point with its own step.
#pragma once

#include "nbody/adaptive_path.h"
#include "nbody/gpu_lane.cuh"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

// sweep/gpu_lanes.cuh says what the members are for. Integrator: Nystrom8 or ExtrapolatedStep. Bodies:
// BodyLane or WholeLane.
template <class Integrator, class Bodies>
struct AdaptiveLane : Bodies {
    using Problem = nbody::Problem;
    using Common = BodyCommon;
    template <int threads>
    using Shared = typename Bodies::template Shared<threads>;
    using Number = double;
    static constexpr int numbers_at_once = 3;
    static constexpr bool counts_steps = false;
    static constexpr unsigned steps_between_packings = 32;

    using Bodies::point;
    AdaptivePath<double, Bodies::in_lane> path =
        {};  // all but the motion is the same in all lanes of a point

    static VOLTPILE_HD int lanes_per_point(const Common& common) { return Bodies::lanes_per_point(common); }

    __device__ __forceinline__ explicit AdaptiveLane(const Common& common) : Bodies(common) {}

    template <int threads>
    __device__ __forceinline__ void begin(bool mine, const Problem* problem, const Common& common,
                                          const GpuRange& range, Shared<threads>& shared) {
        const std::int64_t number = mine ? number_of(range, point) : 0;
        const bool finite = Bodies::begin_bodies(mine, number, problem, common, shared, path.motion);
        bool met = false;
        if constexpr (Bodies::watched) met = Bodies::collided(common, shared);
        if (!mine) return;
        const double dt = number_at(*problem, kDt, number);
        path.end = dt * step_count(*problem, number);
        path.step = dt;
        path.time = path.attempts = path.reason = path.escaper = 0;
        if (!finite) path.reason = reason(Status::NotFinite);
        if (met) path.reason = reason(Status::Collision);
    }

    template <int threads>
    __device__ __forceinline__ bool decided(const Common&, const Shared<threads>&) const {
        return Bodies::asks | ((point != no_point) & (path.reason > 0));
    }

    template <int threads>
    __device__ __forceinline__ void finish(const GpuRange& range, const Shared<threads>& shared) const {
        Bodies::finish_bodies(range, {path.reason - 1, path.attempts, path.time, path.escaper}, 1,
                              path.motion, shared);
    }

    template <int threads>
    __device__ __forceinline__ void step(const Common& common, Shared<threads>& shared) {
        const auto now = Bodies::forces(common, shared);
        if constexpr (Bodies::watched) {
            attempt_step<Integrator>(path, now, common.demands, Bodies::watch(now, common, shared));
        } else {
            attempt_step<Integrator>(path, now, common.demands, NoWatch{});
        }
    }

    template <class Move, int threads>
    __device__ __forceinline__ void move(const Move& move, Shared<threads>& shared) {
        Bodies::move_bodies(move, shared, path.motion);
        double some[3] = {path.end, path.time, path.step};
        move.template numbers<3>(some);
        path.end = some[0], path.time = some[1], path.step = some[2];
        double others[3] = {path.attempts, path.reason, path.escaper};
        move.template numbers<3>(others);
        path.attempts = others[0], path.reason = others[1], path.escaper = others[2];
        int integers[1] = {static_cast<int>(point)};
        move.template integers<1>(integers);
        point = static_cast<std::uint32_t>(integers[0]);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
