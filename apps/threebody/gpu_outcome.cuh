// What a lane stores of a decided pair, and the kernel that completes the outcomes from it.
#pragma once

#include <cuda_runtime.h>

#include "sweep/gpu_outcome.cuh"
#include "sweep/gpu_range.h"
#include "threebody/diagnostics.h"
#include "threebody/outcome.h"
#include "threebody/parameters.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// Of the first system, at the state steps_together; x and p as the integrator holds them.
struct RawOutcome {
    double x[9];
    double p[9];
    double closest_squared;
    std::int32_t steps;
};

// Computes the parameters of one point, one in each lane of the warp.
template <class Number>
__device__ __forceinline__ void compute_parameters(const Problem* problem, std::int64_t point,
                                                   ParameterSet<Number>& shared) {
    static_assert(parameter_count <= 32);
    const unsigned me = threadIdx.x % 32;
    const auto* sources = reinterpret_cast<const ParameterSource*>(&problem->sources);
    if (me < parameter_count) reinterpret_cast<Number*>(&shared)[me] = value_in<Number>(sources[me], point);
    __syncwarp();
}

// Writes the requested fields of a point.
__device__ __forceinline__ void store_outcome(const Outcome& outcome, const GpuRange& range,
                                              std::uint32_t point) {
#define VOLTPILE_STORE(member) store(range.values[static_cast<int>(Field::member)], point, outcome.member);
    VOLTPILE_THREEBODY_FIELDS(VOLTPILE_STORE)
#undef VOLTPILE_STORE
}

// One thread per point: velocities at the time of the positions, energy, square roots. Reads and writes every
// requested field.
template <class Integrator, class Real>
__global__ void complete_outcomes(const Problem* problem, const GpuRange range) {
    const std::uint32_t point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= range.points) return;
    const RawOutcome& raw = reinterpret_cast<const RawOutcome*>(range.raw)[point];
    const Parameters parameters = parameters_at(*problem, number_of(range, point));
    StepConstants<Real> constants;
    set_step_constants(parameters, constants, Assign<Real>{});
    System<Real> s;
    for (int i = 0; i < 9; ++i) {
        s.x[i / 3][i % 3] = static_cast<Real>(raw.x[i]);
        s.p[i / 3][i % 3] = static_cast<Real>(raw.p[i]);
    }
    Integrator::synchronize(s, constants);
    Outcome outcome;
    set_fixed_step_count(parameters, raw.steps, outcome);
    outcome.closest_approach = square_root(raw.closest_squared);
    set_state_fields<Real>(parameters, to_double(s), outcome);
    store_outcome(outcome, range, point);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
