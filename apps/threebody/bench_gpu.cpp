#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "device/buffer.h"
#include "device/device.h"
#include "device/stream.h"
#include "threebody/bench.h"
#include "threebody/bench_kernels.h"
#include "threebody/gpu_program.h"
#include "threebody/methods.h"
#include "threebody/outcome.h"

namespace voltpile::threebody {

namespace {

// Returns the seconds that the work takes which `enqueue` puts on the stream.
template <class Enqueue>
double time_on(const Stream& stream, Enqueue enqueue) {
    Event start, end;
    start.record(stream);
    enqueue();
    end.record(stream);
    end.synchronize();
    return end.seconds_since(start);
}

// Returns FP64 multiply-adds per second, the best of several runs. Each lasts as long as the sweep it is
// compared with: clocks fall under load, so a short burst would be faster than any sustained work.
double fma_peak(const DeviceInfo& info, const Stream& stream, double seconds_each) {
    constexpr int trial_rounds = 20000;
    const int blocks = 8 * info.multiprocessors;
    DeviceBuffer<double> out(1);
    const auto time_rounds = [&](int rounds) {
        return time_on(stream, [&] { launch_fma_loop(blocks, rounds, out.data(), stream); });
    };
    time_rounds(trial_rounds);  // warms up
    const double longer = std::clamp(seconds_each / time_rounds(trial_rounds), 1.0, 1e4);
    const int rounds = static_cast<int>(trial_rounds * longer);
    double best = 0;
    for (int repeat = 0; repeat < 3; ++repeat) {
        best = std::max(best, 256.0 * 16 * blocks * rounds / time_rounds(rounds));
    }
    return best;
}

struct Sweep {
    double seconds = 0;
    double pair_steps = 0;
};

Sweep time_sweep(const Problem& problem, std::uint32_t points, const DeviceInfo& info, const Stream& stream) {
    const auto program = make_gpu_program(problem);
    DeviceBuffer<GpuRange::Counters> counters(1);
    DeviceBuffer<std::int32_t> steps_together(points);
    DeviceBuffer<std::byte> raw(points * program->raw_bytes());
    GpuRange range;
    range.raw = raw.data();
    range.points = points;
    range.counters = counters.data();
    range.values[static_cast<int>(Field::steps_together)] = steps_together.data();
    Sweep best;
    for (int repeat = 0; repeat < 4; ++repeat) {
        set_to_zero(counters.data(), counters.bytes(), stream);
        const double seconds = time_on(stream, [&] { program->launch(range, info.multiprocessors, stream); });
        if (repeat == 0 || seconds < best.seconds) best.seconds = seconds;
    }
    PinnedBuffer<GpuRange::Counters> seen(1);
    copy_to_host(seen.data(), counters.data(), counters.bytes(), stream);
    stream.synchronize();
    best.pair_steps = static_cast<double>(seen.data()->units);
    return best;
}

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
    const Sweep sweep = time_sweep(problem, points, info, stream);
    const double peak = fma_peak(info, stream, sweep.seconds);
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
            const Sweep other = time_sweep(problem, points, info, stream);
            const double other_rate = other.pair_steps / other.seconds;
            fmt::print("{:<44} {:>12.4e} /s  {:.4e} instructions/s\n",
                       fmt::format("pair-steps, {} {}", method.name, single ? "fp32" : "fp64"), other_rate,
                       other_rate * method.instructions);
        }
    }
}

}  // namespace voltpile::threebody
