#include "rootmap/bench.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

#include "base/cpu_level.h"
#include "base/seconds_since.h"
#include "device/device.h"
#include "rootmap/cpu_targets.h"
#include "rootmap/keys.h"
#include "rootmap/methods.h"
#include "rootmap/problem_from_job.h"
#include "sweep/cpu_sweep.h"

namespace voltpile {

namespace rootmap {

namespace {

BenchCase bench_case(const RootmapBenchOptions& options) {
    const std::vector<AppSchema> schemas{rootmap_schema()};  // its example is the published map
    const std::vector<std::string> changes = {fmt::format("map.method=\"{}\"", options.method),
                                              fmt::format("map.polynomial=\"{}\"", options.polynomial),
                                              fmt::format("sweep.x.count={}", options.width),
                                              fmt::format("sweep.y.count={}", options.height),
                                              fmt::format("iterate.max_iterations={}", options.iterations)};
    const JobSpec job = parse_job(schemas.front().example, "bench", changes, schemas);
    BenchCase result;
    result.problem = problem_from_job(job);
    result.fields = fields_from_job(job, result.problem);
    result.points = job.point_count();
    result.title = fmt::format("{} map of {}, {} x {} points, at most {} iterations, FP64", options.method,
                               options.polynomial, options.width, options.height, options.iterations);
    return result;
}

std::vector<int> usable_threads() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    std::vector<int> threads;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(static_cast<std::size_t>(i), &set)) threads.push_back(i);
    return threads;
}

void print_core_row(const BenchCase& of, CpuLevel level, const std::vector<int>& threads) {
    constexpr std::int64_t range_points = 100'000;
    WorkScheduler work;
    for (std::int64_t at = 0; at < of.points; at += range_points)
        work.offer({at, std::min(at + range_points, of.points)});
    work.close();
    const auto start = std::chrono::steady_clock::now();
    sweep_on_cpu([&](PointStream& stream) { cpu_sweep(level)(of.problem, stream); }, of.fields, threads, work,
                 [](WorkRange, std::vector<FieldBuffer>) {});
    const double seconds = seconds_since(start), rate = work.progress().units / seconds;
    fmt::print("{:<28} {:>10.3f} s {:>12.4e} iterations/s {:>12.4e} FP64 instructions/s\n",
               fmt::format("{}, {} thread{}", name(level), threads.size(), threads.size() == 1 ? "" : "s"),
               seconds, rate, rate * instructions_of(of.problem));
}

void bench_cpu(const BenchCase& of) {
    fmt::print("{}\n", of.title);
    const std::vector<int> threads = usable_threads();
    for (const CpuLevel level : usable_cpu_levels()) print_core_row(of, level, {threads.front()});
    if (threads.size() > 1) print_core_row(of, cpu_level(), threads);
}

}  // namespace

std::size_t BenchCase::bytes_per_point() const {
    std::size_t bytes = 0;
    for (const OutcomeField& field : fields) bytes += field.spec.bytes_per_point();
    return bytes;
}

}  // namespace rootmap

std::vector<std::string> rootmap_bench_methods() {
    std::vector<std::string> names;
    for (const rootmap::MethodInfo& method : rootmap::methods())
        if (method.kind == rootmap::Kind::Root) names.emplace_back(method.name);
    return names;
}

void run_rootmap_bench(const RootmapBenchOptions& options) {
    const rootmap::BenchCase of = rootmap::bench_case(options);
    if (options.cpu || device_count() == 0) return rootmap::bench_cpu(of);
#if VOLTPILE_CUDA
    rootmap::bench_gpu(of);
#endif
}

}  // namespace voltpile
