// The interface of the GPU kernel.
#pragma once

#include <cstdint>

#include "device/stream.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

// A range of points on a GPU. All pointers point to GPU memory; those of fields that are not requested are
// null. Outcomes are indexed from the range's begin, as in struct Outcome.
struct GpuRange {
    std::int64_t begin = 0;
    std::uint32_t points = 0;  // at most 2^31

    struct Counters {
        unsigned long long pair_steps;  // of decided pairs
        std::uint32_t next;             // number of points handed out to lanes; may exceed `points`
    };
    Counters* counters = nullptr;  // must be zero at the start

    std::int32_t* steps_together = nullptr;
    double* energy_error = nullptr;
    double* closest_approach = nullptr;
    double* final_state = nullptr;  // (points, 18)
    double* raw_state =
        nullptr;  // (points, 18), if energy_error or final_state is requested; may be final_state
};

// Enqueues the whole range. on_gpu: the same problem in GPU memory. multiprocessors: of the current GPU.
// Throws DeviceError if a launch fails.
void launch_sweep(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                  const Stream& stream);

// One function for each integrator, in files of their own so that they compile in parallel.
void launch_euler(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                  const Stream& stream);
void launch_leapfrog(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                     int multiprocessors, const Stream& stream);
void launch_yoshida4(const Problem& problem, const Problem* on_gpu, const GpuRange& range,
                     int multiprocessors, const Stream& stream);
void launch_rk4(const Problem& problem, const Problem* on_gpu, const GpuRange& range, int multiprocessors,
                const Stream& stream);

}  // namespace voltpile::threebody
