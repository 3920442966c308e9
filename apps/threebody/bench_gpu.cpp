#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "device/buffer.h"
#include "device/device.h"
#include "device/stream.h"
#include "measure/gpu_rates.h"
#include "measure/time_on.h"
#include "threebody/bench.h"
#include "threebody/bench_kernels.h"
#include "threebody/gpu_rate.h"
#include "threebody/methods.h"

namespace voltpile::threebody {

namespace {

// Returns the seconds of one step of all pairs with the straightforward kernel.
double time_plain_step(const Problem& problem, const Problem* on_gpu, std::size_t points,
                       const Stream& stream) {
    constexpr int steps = 300;
    DeviceBuffer<double> state(36 * points);
    DeviceBuffer<std::int32_t> steps_together(points);
    launch_plain_start(on_gpu, points, state.data(), steps_together.data(), stream);
    return time_on(stream,
                   [&] {
                       for (int step = 0; step < steps; ++step) {
                           launch_plain_step(problem, points, state.data(), steps_together.data(), step,
                                             stream);
                       }
                   }) /
           steps;
}

}  // namespace

void bench_gpu(const BenchOptions& options) {
    use_device(0);
    const DeviceInfo info = device_info(0);
    const Stream stream;
    const auto points = static_cast<std::uint32_t>(options.size) * static_cast<std::uint32_t>(options.size);
    Problem problem = published_problem(options);
    DeviceBuffer<Problem> on_gpu(1);
    copy_to_device(on_gpu.data(), &problem, sizeof problem, stream);

    fmt::print("{}: three-body map {} x {}, {} Euler steps, FP64\n", info.name, options.size, options.size,
               options.steps);
    const GpuSweepTime sweep = time_gpu_sweep(problem, points, info, stream);
    // As long as the sweep that it is compared with, for clocks fall under load.
    const double peak = gpu_fp64_rate(0, sweep.seconds, stream);
    const double instructions = threebody::info(Method::Euler).instructions;
    const double rate = sweep.pair_steps / sweep.seconds;
    fmt::print("{:<44} {:>12.4f} s\n", "kernel time, best of 4", sweep.seconds);
    fmt::print("{:<44} {:>12.4e}\n", "pair-steps", sweep.pair_steps);
    fmt::print("{:<44} {:>12.4e} /s\n", "pair-steps", rate);
    fmt::print("{:<44} {:>12.0f}\n", "FP64 instructions a pair-step", instructions);
    fmt::print("{:<44} {:>12.4e} /s\n", "FP64 instructions", rate * instructions);
    fmt::print("{:<44} {:>12.4e} /s\n", "FP64 instructions of a pure FMA loop", peak);
    fmt::print("{:<44} {:>12.1f} %\n", "of it", 100 * rate * instructions / peak);
    const double plain_step = time_plain_step(problem, on_gpu.data(), points, stream);
    const double plain_rate = points / plain_step;  // no pair is decided so early
    fmt::print("{:<44} {:>12.4e} /s\n", "pair-steps, state in memory (300 steps)", plain_rate);
    fmt::print("{:<44} {:>12.1f}\n", "times as fast as that", rate / plain_rate);

    fmt::print("{:<44}\n", "other methods and precisions:");
    for (const MethodInfo& method : methods()) {
        for (const bool single : {false, true}) {
            if (single && method.adaptive) continue;
            BenchOptions shorter = options;
            shorter.steps = std::min(options.steps, 5000);
            problem = published_problem(shorter);
            problem.method = method_named(method.name);
            problem.single_precision = single;
            const GpuSweepTime other = time_gpu_sweep(problem, points, info, stream);
            const double other_rate = other.pair_steps / other.seconds;
            fmt::print("{:<44} {:>12.4e} /s  {:.4e} instructions/s\n",
                       fmt::format("pair-steps, {} {}", method.name, single ? "fp32" : "fp64"), other_rate,
                       other_rate * method.instructions);
        }
    }
}

}  // namespace voltpile::threebody
