#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/seconds_since.h"
#include "threebody/bench.h"
#include "threebody/cpu_rate.h"
#include "threebody/cpu_targets.h"
#include "threebody/plain_loop.h"

namespace voltpile::threebody {

namespace {

using Clock = std::chrono::steady_clock;

// Returns pair-steps/s, the best of several runs of about `seconds` each.
template <class Run>
double best_rate(double seconds, Run run) {
    double best = 0;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const auto start = Clock::now();
        double done = 0;
        while (seconds_since(start) < seconds) done += run();
        best = std::max(best, done / seconds_since(start));
    }
    return best;
}

// Returns FP64 instructions/s times lanes of a loop of nothing but fused multiply-adds: the best of several
// runs.
double fma_peak(const CpuTarget& target) {
    constexpr long rounds = 4'000'000;
    double best = 0;
    for (int repeat = 0; repeat < 8; ++repeat) {
        const auto start = Clock::now();
        const volatile double result = target.fma_rounds(rounds);
        static_cast<void>(result);
        best = std::max(best, 12.0 * rounds * (register_bits(target.level) / 64) / seconds_since(start));
    }
    return best;
}

double plain_rate(const Problem& problem) {
    int column = 0;
    return best_rate(0.3, [&] {
        PlainSystem first = {};
        PlainSystem twin = {};
        double mass[3];
        for (int i = 0; i < 3; ++i) {
            mass[i] = problem.sources.mass[i].base;
            for (int c = 0; c < 3; ++c) {
                first.x[i][c] = problem.sources.position[i][c].base;
                first.v[i][c] = problem.sources.velocity[i][c].base;
            }
        }
        first.x[0][0] = -20 + 40 * (column++ % 1000) / 1000.0;
        first.x[0][1] = -10;
        twin = first;
        for (int c = 0; c < 3; ++c) twin.x[0][c] += problem.sources.twin_shift[c].base;
        return static_cast<double>(plain_steps_together(first, twin, problem.sources.G.base, mass,
                                                        problem.sources.dt.base, problem.largest_steps,
                                                        problem.separation));
    });
}

// FP64 instructions of the CPU kernel for Euler on one step of a pair: its seed costs four more than the
// GPU's, its longer series two.
constexpr double instructions_per_pair_step() {
    constexpr int pair_of_bodies = 3 + 3 + 4 + 7 + 6;  // distance, its square, seed, impulse, two kicks
    return 2 * 3 * pair_of_bodies + 2 * 9 + 6;
}

void print_row(const std::string& what, double rate, double plain) {
    fmt::print("{:<44} {:>12.3e} {:>8.1f}\n", what, rate, rate / plain);
    std::fflush(stdout);  // the next row takes seconds
}

}  // namespace

void bench_cpu(const BenchOptions& options) {
    constexpr double map_seconds = 10;
    BenchOptions sized = options;
    if (sized.size == 0) sized.size = published_size;
    const Problem problem = published_problem(sized);
    const std::vector<int> pus = usable_pus();
    const std::vector<CpuLevel> levels = usable_cpu_levels();
    const std::int64_t points = static_cast<std::int64_t>(sized.size) * sized.size;
    // A quarter of the way up, the picture has fast and slow points; takes a few seconds at most.
    const std::int64_t few = std::min<std::int64_t>(points / 2, 256);
    const WorkRange sample = {points / 4, points / 4 + few};

    fmt::print("three-body map, {} Euler steps, FP64\n", options.steps);
    fmt::print("{:<44} {:>12} {:>8}\n", "", "pair-steps/s", "ratio");
    const double plain = plain_rate(problem);
    print_row("plain loop (-O3), 1 thread", plain, plain);
    double widest = 0;
    for (const CpuLevel level : levels) {
        double rate = 0;
        for (int repeat = 0; repeat < 5; ++repeat) {
            rate = std::max(rate, time_cpu_sweep(problem, cpu_target(level), {pus.front()}, sample).rate());
        }
        print_row(fmt::format("{} ({} bits), 1 thread", name(level), register_bits(level)), rate, plain);
        widest = std::max(widest, rate);
    }
    const double instructions = instructions_per_pair_step();
    const CpuTarget widest_target = cpu_target(levels.front());
    const double peak = fma_peak(widest_target);
    fmt::print(
        "FP64 instructions a pair-step: {:.0f}; {:.3e} lanes/s of the {:.3e} of a pure FMA loop: {:.1f} %\n",
        instructions, widest * instructions, peak, 100 * widest * instructions / peak);

    if (options.size == 0)
        sized.size = map_size_for(widest * static_cast<double>(pus.size()) / options.steps, map_seconds);
    const CpuSweepTime whole = time_cpu_sweep(published_problem(sized), widest_target, pus,
                                              {0, static_cast<std::int64_t>(sized.size) * sized.size}, true);
    print_row(fmt::format("{}, {} threads, a map of {} x {}", name(levels.front()), pus.size(), sized.size,
                          sized.size),
              whole.rate(), plain);
    fmt::print("{:.3f} s, {:.4e} pair-steps\n", whole.seconds, whole.pair_steps);
}

}  // namespace voltpile::threebody
