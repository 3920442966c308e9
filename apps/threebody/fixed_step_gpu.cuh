// Methods of fixed steps on a GPU: one pair of systems in each lane (sweep/gpu_lanes.cuh).
#pragma once

#include "sweep/gpu_lanes.cuh"
#include "threebody/diagnostics.h"
#include "threebody/gpu_outcome.cuh"
#include "threebody/parameters.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// Constants of all points. forces: used if same_forces; otherwise every lane has its own.
template <class Real>
struct FixedStepCommon {
    StepConstants<Real> forces;
    Real limit_squared;  // of the separation
};

// Value: of the parameters (ValueOf).
template <class Value, int threads>
struct FixedStepShared {
    ParameterSet<Value> parameters[threads / 32];
    std::int32_t steps[threads];  // total steps of each lane's pair
};

template <class Integrator, class Real, bool same_forces, bool closest>
struct FixedStepLane {
    using Problem = threebody::Problem;
    using Common = FixedStepCommon<Real>;
    using Value = typename ValueOf<Real>::type;
    template <int threads>
    using Shared = FixedStepShared<Value, threads>;
    using Number = Real;
    static constexpr int numbers_at_once = 9;
    static constexpr bool counts_steps = false;
    static constexpr unsigned steps_between_packings = 1024;

    System<Real> first, twin;
    StepConstants<Real> forces;
    std::uint32_t point;
    std::int32_t left;  // remaining steps; shared memory holds the total, because registers are scarce
    Real closest_squared;

    __device__ __forceinline__ explicit FixedStepLane(const Common& common) : forces(common.forces) {}

    // Sets bodies at rest and far from each other: both systems stay equal and finite while the warp's other
    // lanes run.
    __device__ __forceinline__ void idle() {
        VOLTPILE_UNROLL
        for (int i = 0; i < 3; ++i) {
            VOLTPILE_UNROLL
            for (int c = 0; c < 3; ++c) {
                first.x[i][c] = twin.x[i][c] = static_cast<Real>(1e10 * i);
                first.p[i][c] = twin.p[i][c] = Real(0.0);
            }
        }
        point = no_point;
        left = 0x7fffffff;
        closest_squared = Real(0.0);
    }

    __device__ __forceinline__ void request() { left = 0; }

    // The whole warp computes the parameters of a point, one per lane: that needs few registers, and the
    // running pairs leave none to spare.
    template <int threads>
    __device__ __forceinline__ void begin(bool mine, const Problem* problem, const Common&,
                                          const GpuRange& range, Shared<threads>& shared) {
        ParameterSet<Value>& parameters = shared.parameters[threadIdx.x / 32];
        for (unsigned waiting = __ballot_sync(full_warp, mine); waiting != 0; waiting &= waiting - 1) {
            const int served = __ffs(static_cast<int>(waiting)) - 1;
            compute_parameters(problem, number_of(range, __shfl_sync(full_warp, point, served)), parameters);
            if (static_cast<int>(threadIdx.x % 32) == served) {
                initial_pair(parameters, first, twin);
                left = shared.steps[threadIdx.x] = step_count(parameters);
                closest_squared = static_cast<Real>(__longlong_as_double(0x7ff0000000000000));  // infinity
                if (!same_forces) set_step_constants(parameters, forces, Assign<Real>{});
            }
            __syncwarp();
        }
        if (mine) {
            Integrator::start(first, forces);
            Integrator::start(twin, forces);
        }
    }

    // Also where the distance is NaN.
    template <int threads>
    __device__ __forceinline__ bool decided(const Common& common, const Shared<threads>&) const {
        const Real r2 = squared_length(first.x[0][0] - twin.x[0][0], first.x[0][1] - twin.x[0][1],
                                       first.x[0][2] - twin.x[0][2]);
        const bool together = r2 <= common.limit_squared;
        return (left <= 0) | !together;
    }

    template <int threads>
    __device__ __forceinline__ void finish(const GpuRange& range, const Shared<threads>& shared) {
        if (closest) closest_squared = smaller(smallest_squared_distance(first.x), closest_squared);
        const std::int32_t done = shared.steps[threadIdx.x] - left;
        atomicAdd(&range.counters->units, static_cast<unsigned long long>(done));
        auto* const steps_together =
            static_cast<std::int32_t*>(range.values[static_cast<int>(Field::steps_together)]);
        if (steps_together != nullptr) steps_together[point] = done;
        if (range.raw == nullptr) return;
        RawOutcome& raw = reinterpret_cast<RawOutcome*>(range.raw)[point];
        raw.steps = done;
        raw.closest_squared = static_cast<double>(closest_squared);
        VOLTPILE_UNROLL
        for (int i = 0; i < 9; ++i) {
            raw.x[i] = static_cast<double>(first.x[i / 3][i % 3]);
            raw.p[i] = static_cast<double>(first.p[i / 3][i % 3]);
        }
    }

    template <int threads>
    __device__ __forceinline__ void step(const Common&, const Shared<threads>&) {
        if (closest) closest_squared = smaller(smallest_squared_distance(first.x), closest_squared);
        Integrator::step(first, forces);
        Integrator::step(twin, forces);
        --left;
    }

    template <class Move, int threads>
    __device__ __forceinline__ void move(const Move& move, Shared<threads>& shared) {
        move.template numbers<9>(&first.x[0][0]);
        move.template numbers<9>(&first.p[0][0]);
        move.template numbers<9>(&twin.x[0][0]);
        move.template numbers<9>(&twin.p[0][0]);
        move.template numbers<1>(&closest_squared);
        if (!same_forces) {
            move.template numbers<3 * InverseCube<Real>::terms>(&forces.kick[0][0]);
            move.template numbers<3>(forces.drift);
        }
        int integers[3] = {static_cast<int>(point), left, shared.steps[threadIdx.x]};
        move.template integers<3>(integers);
        point = static_cast<std::uint32_t>(integers[0]);
        left = integers[1];
        shared.steps[threadIdx.x] = integers[2];
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
