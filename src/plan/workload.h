// The amount of work in a job, known before it runs. Estimates and progress are computed from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "plan/team.h"

namespace voltpile {

struct Workload {
    std::string unit;            // in the plural: "pair-steps"
    double units_per_point = 1;  // in the mean; an upper bound where points may end early
    std::string measured_as;     // work of the MeasuredRate that applies; empty: none does
    double flop_per_unit = 1;    // floating-point INSTRUCTIONS per unit (an FMA counts as one)
    // Clock cycles of a unit in each SIMD lane of a core whose instructions wait for each other; 0: they do
    // not, so that their number decides.
    double core_cycles_per_unit = 0;
    double core_seconds_per_point = 0;   // of a CPU core beside the units: start and outcome of a point
    bool fp64 = true;                    // type of these instructions: FP64, else FP32
    double gpu_efficiency = 0.9;         // share of a GPU's peak that kernels reach; only for estimates
    std::int64_t points = 0;             // in the flattened sweep
    std::int64_t bytes_per_point = 0;    // in the result
    std::int64_t most_range_points = 0;  // the app's own limit for a range; 0: none
    // Of a sweep: the GPU memory of a point that is computed, beside its results (GpuProgram::raw_bytes()).
    // Nothing: the app plans its GPU memory itself.
    std::optional<std::int64_t> gpu_state_bytes;
    std::int64_t gpu_table_bytes = 0;  // of a sweep: what all points read, on each GPU
    TeamShape team;                    // ranks that share a point; a single rank for sweeps

    // Returns the most points in a range: 32 MiB of results, so that a rank's memory does not grow with the
    // sweep.
    std::int64_t largest_range() const {
        const auto fit = std::max<std::int64_t>(1, (32 << 20) / std::max<std::int64_t>(bytes_per_point, 1));
        return most_range_points > 0 ? std::min(fit, most_range_points) : fit;
    }
};

}  // namespace voltpile
