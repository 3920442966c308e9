// Adaptive methods on a GPU: one pair of systems in each lane, each with its own step (sweep/gpu_lanes.cuh).
#pragma once

#include "sweep/gpu_lanes.cuh"
#include "threebody/adaptive_outcome.h"
#include "threebody/gpu_outcome.cuh"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// pair: used if same_constants; otherwise every lane has its own, in shared memory.
template <class Real>
struct AdaptiveCommon {
    PairConstants<Real> pair;
    AdaptiveDemands demands;
    AdaptiveEnd* ends;  // of all points of the range
};

template <class Real, int threads, bool same_constants>
struct AdaptiveShared {
    ParameterSet<typename ValueOf<Real>::type> parameters[threads / 32];
    PairConstants<Real> constants[same_constants ? 1 : threads];
};

// Watches a pair's path in GPU memory: a step leaves no registers to spare, and the watch is
// touched at its end only.
struct WatchInMemory {
    static constexpr bool watches = true;
    AdaptiveEnd* outcome;  // null: the lane is idle
    const PairConstants<double>& constants;
    const WatchDemands& demands;

    __device__ __forceinline__ bool notes(double taken) const { return outcome != nullptr && taken > 0; }
    __device__ __forceinline__ void step(const RelativeMotion<double>& from, const RelativeMotion<double>& to,
                                         double time, double h, double taken) const {
        if (notes(taken)) watch_step(outcome->watch, demands, from, to, time, h, taken);
    }
    __device__ __forceinline__ double end(const RelativeMotion<double>& first, RelativeMotion<double>& twin,
                                          double time, double h, double taken) const {
        return notes(taken) ? watch_end(outcome->watch, demands, constants, first, twin, time, h, taken) : 0;
    }
};

// Real: double or DoubleDouble. watched: paths are, only in double.
template <class Integrator, class Real, bool same_constants, bool watched>
struct AdaptiveLane {
    using Problem = threebody::Problem;
    using Common = AdaptiveCommon<Real>;
    template <int threads>
    using Shared = AdaptiveShared<Real, threads, same_constants>;
    using Number = Real;
    static constexpr int numbers_at_once = 7;
    static constexpr bool counts_steps = true;
    static constexpr unsigned steps_between_packings = 16;

    AdaptivePair<Real, typename Integrator::template Motion<Real>> pair;
    std::uint32_t point;

    __device__ __forceinline__ explicit AdaptiveLane(const Common&) {}

    // Far from each other and equally fast, with a step of 0: nothing moves, and no error is NaN.
    __device__ __forceinline__ void idle() {
        VOLTPILE_UNROLL
        for (int c = 0; c < 6; ++c) {
            pair.first.x[c] = pair.twin.x[c] = Real(c < 3 ? 1e10 : 3e10);
            pair.first.v[c] = pair.twin.v[c] = Real(1.0);
            pair.first.a[c] = pair.twin.a[c] = Real(0.0);
        }
        set_center(pair.first, Real(0.0));
        set_center(pair.twin, Real(0.0));
        pair.time = pair.step = pair.parted_gap = Real(0.0);
        pair.attempts = Real(-1e300);
        pair.parted = Real(__longlong_as_double(0x7ff0000000000000));  // infinity
        point = no_point;
    }

    __device__ __forceinline__ void request() { pair.attempts = Real(1e300); }

    template <int threads>
    __device__ __forceinline__ void begin(bool mine, const Problem* problem, const Common& common,
                                          const GpuRange& range, Shared<threads>& shared) {
        auto& parameters = shared.parameters[threadIdx.x / 32];
        for (unsigned waiting = __ballot_sync(full_warp, mine); waiting != 0; waiting &= waiting - 1) {
            const int served = __ffs(static_cast<int>(waiting)) - 1;
            compute_parameters(problem, number_of(range, __shfl_sync(full_warp, point, served)), parameters);
            if (static_cast<int>(threadIdx.x % 32) == served) {
                initial_motions(parameters, pair.first, pair.twin);
                if constexpr (watched) {
                    if (common.demands.watch.deviation) start_deviation(pair.first, pair.twin);
                }
                if (!same_constants) {
                    set_pair_constants(parameters, shared.constants[threadIdx.x], Assign<Real>{});
                }
                pair.step = parameters.dt;
            }
            __syncwarp();
        }
        if (!mine) return;
        start_pair(pair, constants(common, shared), common.demands, pair.step);
        if constexpr (watched) {
            start_watch(common.ends[point].watch, common.demands.watch, pair.first, pair.twin,
                        constants(common, shared));
        }
    }

    // An idle lane has no end.
    template <int threads>
    __device__ __forceinline__ bool decided(const Common& common, const Shared<threads>& shared) const {
        if (point == no_point) return static_cast<double>(pair.attempts) > 0;
        return static_cast<double>(undecided(pair, constants(common, shared), common.demands)) == 0;
    }

    template <int threads>
    __device__ __forceinline__ void finish(const GpuRange& range, const Shared<threads>&) const {
        const auto attempts = static_cast<double>(pair.attempts);
        atomicAdd(&range.counters->units, static_cast<unsigned long long>(attempts));
        AdaptiveEnd& end = reinterpret_cast<AdaptiveEnd*>(range.raw)[point];
        VOLTPILE_UNROLL
        for (int c = 0; c < 6; ++c) {
            end.x[c] = static_cast<double>(pair.first.x[c]);
            end.v[c] = static_cast<double>(pair.first.v[c]);
        }
        end.center = static_cast<double>(center_of(pair.first));
        end.time = static_cast<double>(pair.time);
        end.parted = static_cast<double>(pair.parted);
        end.attempts = attempts;
    }

    template <int threads>
    __device__ __forceinline__ void step(const Common& common, const Shared<threads>& shared) {
        const PairConstants<Real>& mine = constants(common, shared);
        if constexpr (watched) {
            advance_pair<Integrator>(
                pair, mine, common.demands,
                WatchInMemory{point == no_point ? nullptr : common.ends + point, mine, common.demands.watch});
        } else {
            advance_pair<Integrator>(pair, mine, common.demands, NoWatch{});
        }
    }

    template <class Move, int threads>
    __device__ __forceinline__ void move(const Move& move, Shared<threads>& shared) {
        move.template numbers<6>(pair.first.x);
        move.template numbers<6>(pair.first.v);
        move.template numbers<6>(pair.twin.x);
        move.template numbers<6>(pair.twin.v);
        if (!Integrator::info.chain) {
            move.template numbers<6>(pair.first.a);
            move.template numbers<6>(pair.twin.a);
        }
        Real rest[5] = {pair.time, pair.step, pair.parted, pair.parted_gap, pair.attempts};
        move.template numbers<5>(rest);
        Real centers[2] = {center_of(pair.first), center_of(pair.twin)};
        if (Integrator::info.chain) move.template numbers<2>(centers);
        set_center(pair.first, centers[0]);
        set_center(pair.twin, centers[1]);
        pair.time = rest[0];
        pair.step = rest[1];
        pair.parted = rest[2];
        pair.parted_gap = rest[3];
        pair.attempts = rest[4];
        if (!same_constants) {
            constexpr int numbers = sizeof(PairConstants<Real>) / sizeof(Real);
            auto* const all = reinterpret_cast<Real*>(&shared.constants[threadIdx.x]);
            move.template numbers<numbers / 2>(all);
            move.template numbers<numbers - numbers / 2>(all + numbers / 2);
        }
        int integers[1] = {static_cast<int>(point)};
        move.template integers<1>(integers);
        point = static_cast<std::uint32_t>(integers[0]);
    }

  private:
    template <int threads>
    static __device__ __forceinline__ const PairConstants<Real>& constants(const Common& common,
                                                                           const Shared<threads>& shared) {
        if constexpr (same_constants) {
            return common.pair;
        } else {
            return shared.constants[threadIdx.x];
        }
    }
};

// One thread per point.
template <class Integrator>
__global__ void complete_adaptive_outcomes(const Problem* problem, const GpuRange range) {
    const std::uint32_t point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= range.points) return;
    Outcome outcome;
    set_adaptive_outcome(parameters_at(*problem, number_of(range, point)),
                         reinterpret_cast<const AdaptiveEnd*>(range.raw)[point], demands_of(*problem),
                         outcome);
    store_outcome(outcome, range, point);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
