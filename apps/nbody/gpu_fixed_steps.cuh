// Methods of fixed steps on a GPU.
#pragma once

#include "nbody/fixed_steps.h"
#include "nbody/gpu_lane.cuh"

namespace voltpile::nbody {
inline namespace VOLTPILE_TARGET {

struct FixedStepCommon : BodyCommon {
    Method method;
    Composition composition;
};

// sweep/gpu_lanes.cuh says what the members are for.
// Bodies: BodyLane or WholeLane.
template <class Bodies>
struct FixedStepLane : Bodies {
    using Problem = nbody::Problem;
    using Common = FixedStepCommon;
    template <int threads>
    using Shared = typename Bodies::template Shared<threads>;
    using Number = double;
    static constexpr int numbers_at_once = 3;
    static constexpr bool counts_steps = false;
    static constexpr unsigned steps_between_packings = 1024;

    using Bodies::point;
    Motion<double, Bodies::in_lane> motion = {};
    double h = 0;
    std::int32_t left = 0, done = 0;  // steps
    Status status = Status::End;
    int escaper = 0;

    static VOLTPILE_HD int lanes_per_point(const Common& common) { return Bodies::lanes_per_point(common); }

    __device__ __forceinline__ explicit FixedStepLane(const Common& common) : Bodies(common) {}

    template <int threads>
    __device__ __forceinline__ void begin(bool mine, const Problem* problem, const Common& common,
                                          const GpuRange& range, Shared<threads>& shared) {
        const std::int64_t number = mine ? number_of(range, point) : 0;
        const bool finite = Bodies::begin_bodies(mine, number, problem, common, shared, motion);
        if (mine) {
            h = number_at(*problem, kDt, number);
            left = step_count(*problem, number);
            done = 0;
            status = Status::End;
            escaper = 0;
            if (!finite) end(Status::NotFinite);
        }
        if constexpr (Bodies::watched) {
            const bool met = Bodies::collided(common, shared);
            if (mine && met) end(Status::Collision);
        }
    }

    template <int threads>
    __device__ __forceinline__ bool decided(const Common&, const Shared<threads>&) const {
        return Bodies::asks | ((point != no_point) & (left <= 0));
    }

    template <int threads>
    __device__ __forceinline__ void finish(const GpuRange& range, const Shared<threads>& shared) const {
        const PointEnd end = {static_cast<double>(static_cast<int>(status)), static_cast<double>(done),
                              h * done, static_cast<double>(escaper)};
        Bodies::finish_bodies(range, end, h, motion, shared);
    }

    template <int threads>
    __device__ __forceinline__ void step(const Common& common, Shared<threads>& shared) {
        const auto now = Bodies::forces(common, shared);
        const auto before = motion;
        fixed_step(common.method, common.composition, motion, h, now);
        --left;
        ++done;
        const double sum = sum_of_coordinates(motion);
        const bool finite = !Bodies::any(!(sum - sum <= 0));
        if (!finite) {
            motion = before;
            --done;
            end(Status::NotFinite);
        }
        if constexpr (Bodies::watched) {
            const auto watching = Bodies::watch(now, common, shared);
            if (common.demands.closest) watching.note_distances(motion, static_cast<double>(done));
            const bool met = Bodies::collided(common, shared) && finite;
            if (met) end(Status::Collision);
            if (common.demands.escapes) {
                const auto number = static_cast<int>(watching.escaped(motion));
                if (finite && !met && number > 0) {
                    end(Status::Escape);
                    escaper = number;
                }
            }
        }
    }

    template <class Move, int threads>
    __device__ __forceinline__ void move(const Move& move, Shared<threads>& shared) {
        Bodies::move_bodies(move, shared, motion);
        move.template numbers<1>(&h);
        int integers[3] = {static_cast<int>(point), left, done};
        move.template integers<3>(integers);
        point = static_cast<std::uint32_t>(integers[0]);
        left = integers[1], done = integers[2];
        int ends[2] = {static_cast<int>(status), escaper};
        move.template integers<2>(ends);
        status = static_cast<Status>(ends[0]), escaper = ends[1];
    }

  private:
    __device__ __forceinline__ void end(Status why) {
        left = 0;
        status = why;
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::nbody
