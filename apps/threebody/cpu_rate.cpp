#include "threebody/cpu_rate.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/seconds_since.h"
#include "sweep/cpu_sweep.h"
#include "threebody/bench.h"
#include "threebody/methods.h"
#include "threebody/outcome_fields.h"

namespace voltpile::threebody {

CpuSweepTime time_cpu_sweep(const Problem& problem, const CpuTarget& target, const std::vector<int>& pus,
                            WorkRange points, bool progress) {
    const std::int64_t slice = progress ? (points.size() + 19) / 20 : points.size();
    WorkScheduler work;
    for (std::int64_t at = points.begin; at < points.end; at += slice)
        work.offer({at, std::min(at + slice, points.end)});
    work.close();
    std::atomic<std::int64_t> done = 0;
    const auto start = std::chrono::steady_clock::now();
    const std::vector<OutcomeField> fields = {outcome_field("steps_together", problem)};
    sweep_on_cpu([&](PointStream& stream) { target.sweep(problem, stream); }, fields, pus, work,
                 [&](WorkRange range, std::vector<FieldBuffer>) {
                     const std::int64_t now = done += range.size();
                     if (progress)
                         fmt::print(stderr, "{:.0f} % of the map after {:.1f} s\n",
                                    100.0 * static_cast<double>(now) / static_cast<double>(points.size()),
                                    seconds_since(start));
                 });
    return {work.progress().units, seconds_since(start)};
}

std::vector<int> usable_pus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    std::vector<int> pus;
    for (int pu = 0; pu < CPU_SETSIZE; ++pu) {
        if (CPU_ISSET(static_cast<std::size_t>(pu), &set)) pus.push_back(pu);
    }
    return pus;
}

double measure_core_rate(Method method, bool single_precision, const std::vector<int>& pus) {
    // Many short rounds, of which the best counts, because other programs may take the cores meanwhile.
    constexpr double least_seconds = 0.04;
    constexpr int rounds = 8;
    constexpr int steps = 5000;  // few enough that lanes seldom run empty at the end of a sample
    BenchOptions options;
    options.size = published_size;
    options.steps = steps;
    options.method = info(method).name;
    Problem problem = published_problem(options);
    problem.single_precision = single_precision;
    const CpuTarget target = cpu_target(usable_cpu_levels().front());
    const std::int64_t whole = std::int64_t{published_size} * published_size;
    // From a quarter of the map on, where some pairs part early.
    std::int64_t points = 64 * std::ssize(pus);
    double best = 0;
    for (int round = 0; round < rounds;) {
        const std::int64_t begin = std::min(whole / 4, whole - points);
        const CpuSweepTime time = time_cpu_sweep(problem, target, pus, {begin, begin + points});
        if (time.seconds < least_seconds && points < whole) {
            points = std::min(2 * points, whole);
            continue;
        }
        best = std::max(best, time.rate());
        ++round;
    }
    return best / static_cast<double>(pus.size());
}

}  // namespace voltpile::threebody
