#include "threebody/bench.h"

#include <algorithm>
#include <cmath>

#include "device/device.h"
#include "threebody/methods.h"

namespace voltpile {

namespace threebody {

Problem published_problem(const BenchOptions& options) {
    constexpr double mass[3] = {10, 20, 30};
    constexpr double position[3][3] = {{0, 0, -11}, {0, 0, 0}, {10, 10, 12}};
    constexpr double velocity[3][3] = {{-3, 0, 0}, {0, 0, 0}, {3, 0, 0}};
    Problem problem;
    problem.sources.G.base = 9.8;
    for (int i = 0; i < 3; ++i) {
        problem.sources.mass[i].base = mass[i];
        problem.sources.twin_shift[i].base = 0.001;
        for (int c = 0; c < 3; ++c) {
            problem.sources.position[i][c].base = position[i][c];
            problem.sources.velocity[i][c].base = velocity[i][c];
        }
    }
    ParameterSource& x = problem.sources.position[0][0];
    x.from = -20;
    x.to = 20;
    x.count = x.intervals = options.size;
    ParameterSource& y = problem.sources.position[0][1] = x;
    y.stride = options.size;
    problem.sources.dt.base = 0.001;
    problem.sources.steps.base = options.steps;
    problem.largest_steps = options.steps;
    problem.separation = 0.5;
    problem.same_forces = true;
    problem.method = method_named(options.method);
    problem.tolerance = options.tolerance;
    problem.most_steps = 100000;
    return problem;
}

int map_size_for(double pairs_per_s, double seconds) {
    return static_cast<int>(std::clamp(std::sqrt(pairs_per_s * seconds), 32.0, 1.0 * published_size));
}

}  // namespace threebody

std::vector<std::string> threebody_method_names() {
    std::vector<std::string> names;
    for (const threebody::MethodInfo& method : threebody::methods()) names.emplace_back(method.name);
    return names;
}

void run_bench(const BenchOptions& options) {
    if (options.cpu || device_count() == 0) return threebody::bench_cpu(options);
#if VOLTPILE_CUDA
    BenchOptions sized = options;
    if (sized.size == 0) sized.size = threebody::published_size;
    options.method == "euler" ? threebody::bench_gpu(sized) : threebody::bench_gpu_method(sized);
#endif
}

}  // namespace voltpile
