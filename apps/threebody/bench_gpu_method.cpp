#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "device/buffer.h"
#include "device/device.h"
#include "device/stream.h"
#include "threebody/bench.h"
#include "threebody/gpu_program.h"
#include "threebody/methods.h"
#include "threebody/outcome.h"

namespace voltpile::threebody {

namespace {

// The fields that errors are measured in.
struct MethodRun {
    double seconds = 0;  // best of the repeats
    double units = 0;
    double lane_steps = 0;  // of an adaptive method
    std::vector<double> time_together;
    std::vector<double> final_state;
};

MethodRun run_method(const Problem& problem, std::uint32_t points, int repeats) {
    const Stream stream;
    const auto program = make_gpu_program(problem);
    DeviceBuffer<GpuRange::Counters> counters(1);
    DeviceBuffer<std::byte> raw(points * program->raw_bytes());
    DeviceBuffer<double> times(points);
    DeviceBuffer<double> states(18 * static_cast<std::size_t>(points));
    GpuRange range;
    range.points = points;
    range.counters = counters.data();
    range.raw = raw.data();
    range.values[static_cast<int>(Field::time_together)] = times.data();
    range.values[static_cast<int>(Field::final_state)] = states.data();
    MethodRun run;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        set_to_zero(counters.data(), counters.bytes(), stream);
        Event start, end;
        start.record(stream);
        program->launch(range, device_info(0).multiprocessors, stream);
        end.record(stream);
        end.synchronize();
        const double seconds = end.seconds_since(start);
        if (repeat == 0 || seconds < run.seconds) run.seconds = seconds;
    }
    run.time_together.resize(times.size());
    run.final_state.resize(states.size());
    PinnedBuffer<GpuRange::Counters> seen(1);
    copy_to_host(seen.data(), counters.data(), counters.bytes(), stream);
    copy_to_host(run.time_together.data(), times.data(), times.bytes(), stream);
    copy_to_host(run.final_state.data(), states.data(), states.bytes(), stream);
    stream.synchronize();
    run.units = static_cast<double>(seen.data()->units);
    run.lane_steps = static_cast<double>(seen.data()->lane_steps);
    return run;
}

// Prints the differences to the same run at a much smaller tolerance.
void print_errors(Problem problem, const MethodRun& run, std::uint32_t points) {
    constexpr double reference_tolerance = 1e-13;
    problem.tolerance = reference_tolerance;
    problem.most_steps = 10000000;
    const MethodRun reference = run_method(problem, points, 1);
    std::vector<double> errors;
    std::size_t far = 0;
    std::size_t late = 0;
    for (std::size_t point = 0; point < points; ++point) {
        double squared = 0;
        for (std::size_t c = 0; c < 3; ++c) {
            squared += std::pow(run.final_state[18 * point + c] - reference.final_state[18 * point + c], 2);
        }
        errors.push_back(std::sqrt(squared));
        far += errors.back() < 0.01 ? 0 : 1;
        const double time = std::abs(run.time_together[point] - reference.time_together[point]);
        late += time < problem.sources.dt.base ? 0 : 1;
    }
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::nth_element(errors.begin(), middle, errors.end());
    fmt::print("{:<44} {:>12.4f} %\n", "body 1 off by 0.01 or more at the end",
               100.0 * static_cast<double>(far) / points);
    fmt::print("{:<44} {:>12.3e}\n", "median error of body 1", *middle);
    fmt::print("{:<44} {:>12.4f} %\n", "parting time off by dt or more",
               100.0 * static_cast<double>(late) / points);
    fmt::print("{:<44} {:>12.4f} s\n", "kernel time of the reference, tolerance 1e-13", reference.seconds);
}

}  // namespace

void bench_gpu_method(const BenchOptions& options) {
    use_device(0);
    const auto points = static_cast<std::uint32_t>(options.size) * static_cast<std::uint32_t>(options.size);
    const MethodInfo& method = info(method_named(options.method));
    Problem problem = published_problem(options);
    problem.want_state = true;
    fmt::print("{}: three-body map {} x {} to T = {}, {}{}, FP64\n", device_info(0).name, options.size,
               options.size, options.steps * problem.sources.dt.base, method.name,
               method.adaptive ? fmt::format(" with tolerance {}", options.tolerance) : "");
    for (const bool parts : {true, false}) {
        if (!parts) problem.separation = HUGE_VAL;
        fmt::print("{}\n", parts ? "until the twins part:" : "every start to the end:");
        const MethodRun run = run_method(problem, points, 4);
        const double rate = run.units / run.seconds;
        fmt::print("{:<44} {:>12.4f} s\n", "kernel time, best of 4", run.seconds);
        fmt::print("{:<44} {:>12.1f}\n", "steps of a pair, mean", run.units / points);
        fmt::print("{:<44} {:>12.4e} /s\n", "pair-steps", rate);
        fmt::print("{:<44} {:>12.4e} /s\n", "FP64 instructions", rate * method.instructions);
        if (!method.adaptive) continue;
        fmt::print("{:<44} {:>12.1f} %\n", "share of lanes that step a pair",
                   100 * run.units / run.lane_steps);
        print_errors(problem, run, points);
    }
}

}  // namespace voltpile::threebody
