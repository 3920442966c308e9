// The points of a job on a GPU: one in each lane (sweep/gpu_lanes.cuh). The source that the program compiles
// at run time includes it.
#pragma once

#include <cstdint>

#include "ode/point_motion.h"
#include "sweep/gpu_lanes.cuh"
#include "sweep/gpu_outcome.cuh"

namespace voltpile::ode {
inline namespace VOLTPILE_TARGET {

// steps_at_once: of a point, before its warp looks for those that are decided.
template <class Equations, int steps_at_once>
struct PointLane {
    struct Problem;
    struct Common {};
    template <int threads>
    struct Shared {};
    using Number = double;
    static constexpr int numbers_at_once = 4;
    static constexpr bool counts_steps = false;
    static constexpr unsigned steps_between_packings = 32;

    PointMotion<Equations> motion;
    std::uint32_t point = no_point;
    bool asks = false;  // for a first point

    __device__ __forceinline__ explicit PointLane(const Common&) {}

    __device__ __forceinline__ void idle() {
        point = no_point;
        asks = false;
    }
    __device__ __forceinline__ void request() { asks = true; }

    template <int threads>
    __device__ __forceinline__ void begin(bool mine, const Problem*, const Common&, const GpuRange& range,
                                          Shared<threads>&) {
        if (mine) motion.begin(number_of(range, point));
    }

    template <int threads>
    __device__ __forceinline__ bool decided(const Common&, const Shared<threads>&) const {
        return asks | ((point != no_point) & motion.decided());
    }

    // Fields are numbered as fields_of() lists them.
    template <int threads>
    __device__ __forceinline__ void finish(const GpuRange& range, const Shared<threads>&) {
        Outcome outcome;
        motion.finish(outcome);
        constexpr int outputs = Equations::outputs;
        VOLTPILE_UNROLL
        for (int i = 0; i < outputs; ++i) store(range.values[i], point, outcome.outputs[i]);
        store(range.values[outputs], point, outcome.t_final);
        store(range.values[outputs + 1], point, outcome.steps);
        store(range.values[outputs + 2], point, outcome.status);
        store(range.values[outputs + 3], point, outcome.lyapunov);
        atomicAdd(&range.counters->units, static_cast<unsigned long long>(outcome.steps));
    }

    template <int threads>
    __device__ __forceinline__ void step(const Common&, const Shared<threads>&) {
        if (point == no_point) return;
        for (int i = 0; i < steps_at_once && !motion.decided(); ++i) motion.step();
    }

    template <class Move, int threads>
    __device__ __forceinline__ void move(const Move& move, const Shared<threads>&) {
        int integers[1] = {static_cast<int>(point)};
        move.template integers<1>(integers);
        point = static_cast<std::uint32_t>(integers[0]);
        motion.move(move);
    }
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::ode
