// The problems that the tests run, and functions that run them on any processor.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/point_stream.h"
#include "threebody/cpu_targets.h"
#include "threebody/outcome.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

inline void set_bodies(Problem& problem, double G, const double (&mass)[3], const double (&position)[3][3],
                       const double (&velocity)[3][3]) {
    problem.sources.G.base = G;
    for (int i = 0; i < 3; ++i) {
        problem.sources.mass[i].base = mass[i];
        for (int c = 0; c < 3; ++c) {
            problem.sources.position[i][c].base = position[i][c];
            problem.sources.velocity[i][c].base = velocity[i][c];
        }
    }
}

inline void set_time(Problem& problem, double dt, std::int32_t steps) {
    problem.sources.dt.base = dt;
    problem.sources.steps.base = steps;
    problem.largest_steps = steps;
}

// The published map: `size` x `size` points, x fastest.
inline Problem published_map(std::int64_t size = 1000) {
    Problem problem;
    set_bodies(problem, 9.8, {10, 20, 30}, {{0, 0, -11}, {0, 0, 0}, {10, 10, 12}},
               {{-3, 0, 0}, {0, 0, 0}, {3, 0, 0}});
    for (ParameterSource& shift : problem.sources.twin_shift) shift.base = 0.001;
    ParameterSource& x = problem.sources.position[0][0];
    x.from = -20;
    x.to = 20;
    x.count = x.intervals = size;
    ParameterSource& y = problem.sources.position[0][1] = x;
    y.stride = size;
    set_time(problem, 0.001, 50000);
    problem.separation = 0.5;
    problem.same_forces = true;
    return problem;
}

// A zoom into the published map around (5.30031, -0.45): points 1e-20 apart, the twin 1e-21 away.
inline Problem deep_zoom(std::int32_t steps) {
    Problem problem = published_map();
    problem.sources.position[0][0] = {.base = 5.30031};
    problem.sources.position[0][1] = {.base = -0.45};
    problem.sources.displacement[0] = {
        .from = -5e-20, .to = 5e-20, .intervals = 10, .count = 10, .stride = 1};
    for (ParameterSource& shift : problem.sources.twin_shift) shift = {.base = 1e-21};
    set_time(problem, 0.001, steps);
    problem.double_double = true;
    return problem;
}

inline constexpr double never = HUGE_VAL;  // as a separation: no pair is decided before its last step

// Position errors on the figure-eight by make_integrator_errors.py: after one period, after one period in
// twice as many steps, and after a hundred periods. tolerance: relative. The figures have four digits.
// Methods of errors below 1e-9 get 0.5 %: the starting values have 14 digits, so the exact orbit returns only
// within 1e-12.
struct FigureEightError {
    Method method;
    std::int32_t steps;  // a period
    double error, error_of_half_steps, error_100_periods, tolerance;
};
inline constexpr FigureEightError kFigureEightErrors[] = {
    {Method::Euler, 1000, 1.268, 0.6669, 41.55, 0.0005},
    {Method::Leapfrog, 1000, 1.126e-4, 2.817e-5, 0.01737, 0.0005},
    {Method::Yoshida4, 1000, 2.197e-7, 1.373e-8, 3.090e-5, 0.0005},
    {Method::SymplecticNystrom6, 50, 1.035e-8, 1.639e-10, 1.481e-6, 0.005},
    {Method::RungeKutta4, 1000, 9.301e-9, 5.257e-10, 2.074e-5, 0.005},
};

// Chenciner and Montgomery's figure-eight; period 6.32591398292621.
inline Problem figure_eight(Method method, std::int32_t steps, double time) {
    Problem problem;
    set_bodies(
        problem, 1, {1, 1, 1},
        {{0.97000435669734, -0.24308753153583, 0}, {-0.97000435669734, 0.24308753153583, 0}, {0, 0, 0}},
        {{0.93240737144104 / 2, 0.86473146092102 / 2, 0},
         {0.93240737144104 / 2, 0.86473146092102 / 2, 0},
         {-0.93240737144104, -0.86473146092102, 0}});
    set_time(problem, time / steps, steps);
    problem.method = method;
    problem.separation = never;
    problem.same_forces = true;
    problem.want_state = problem.want_closest_approach = true;
    return problem;
}

// Hands out the points of a list.
class ListStream : public PointStream {
  public:
    explicit ListStream(const std::vector<std::int64_t>& points)
        : points_(points), outcomes_(points.size()) {}

    bool draw(Ticket& ticket) override {
        if (next_ == points_.size()) return false;
        ticket = {points_[next_], &outcomes_[next_]};
        ++next_;
        return true;
    }
    void finish(const Ticket& ticket, const void* outcome) override {
        *static_cast<Outcome*>(ticket.owner) = *static_cast<const Outcome*>(outcome);
    }
    bool report(double) override { return true; }

    std::vector<Outcome> take() { return std::move(outcomes_); }

  private:
    const std::vector<std::int64_t>& points_;
    std::vector<Outcome> outcomes_;
    std::size_t next_ = 0;
};

// Runs points of a problem in the given order and returns their outcomes in the same order.
using RunPoints = std::function<std::vector<Outcome>(const Problem&, const std::vector<std::int64_t>&)>;

struct Processor {
    CpuLevel level;
    std::string name;
    RunPoints run;
};

// Returns one single-threaded runner for each CPU level that this machine supports, highest first.
inline std::vector<Processor> cpu_processors() {
    std::vector<Processor> processors;
    for (const CpuLevel level : usable_cpu_levels()) {
        processors.push_back({level, std::string(name(level)),
                              [level](const Problem& problem, const std::vector<std::int64_t>& points) {
                                  ListStream stream(points);
                                  cpu_target(level).sweep(problem, stream);
                                  return stream.take();
                              }});
    }
    return processors;
}

inline std::vector<std::int64_t> consecutive(std::int64_t begin, std::int64_t count,
                                             std::int64_t stride = 1) {
    std::vector<std::int64_t> points;
    for (std::int64_t i = 0; i < count; ++i) points.push_back(begin + i * stride);
    return points;
}

// Whether two outcomes agree in all that is not evaluated afterwards from the final state.
inline bool same_bits(const Outcome& a, const Outcome& b) {
    return a.steps_together == b.steps_together && a.step_count == b.step_count &&
           std::memcmp(&a.time_together, &b.time_together, sizeof(double)) == 0 &&
           std::memcmp(a.final_state, b.final_state, sizeof a.final_state) == 0;
}

inline std::int64_t sum_of_steps(const std::vector<Outcome>& outcomes) {
    std::int64_t sum = 0;
    for (const Outcome& outcome : outcomes) sum += outcome.steps_together;
    return sum;
}

}  // namespace voltpile::threebody
