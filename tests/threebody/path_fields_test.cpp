// Tests the fields that describe a trajectory's path and quality: angular momentum, closest approach, escape.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "threebody/parameters.h"
#include "threebody/reference_problems.h"

namespace voltpile::threebody {
namespace {

Problem watched(Problem problem, double tolerance) {
    problem.method = Method::RungeKuttaNystrom8;
    problem.tolerance = tolerance;
    problem.most_steps = 1000000;
    problem.separation = never;
    problem.want_state = problem.want_closest_approach = problem.want_escape = true;
    return problem;
}

using Vector = double[3];

void add_cross_product(const Vector& a, const Vector& b, double factor, Vector& sum) {
    for (int c = 0; c < 3; ++c) {
        sum[c] += factor * (a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3]);
    }
}

// One step of Euler's method changes the angular momentum by dt^2 sum of m v x a; with two bodies that move
// and a force between them along d, by dt^2 G m1 m3 / r^3 (v1 - v3) x d, and so on. All in plain arithmetic.
TEST(PathFields, HaveTheAngularMomentumErrorOfAStepOfEuler) {
    Problem problem = published_map();
    const double dt = 0.5;  // so that the change is far above rounding
    set_time(problem, dt, 1);
    problem.separation = never;
    problem.want_state = true;
    const Parameters start = parameters_at(problem, 123456);
    double center[3] = {}, drift[3] = {};
    for (int i = 0; i < 3; ++i) {
        for (int c = 0; c < 3; ++c) {
            center[c] += start.mass[i] / 60 * start.position[i][c];
            drift[c] += start.mass[i] / 60 * start.velocity[i][c];
        }
    }
    double change[3] = {};
    double bound = 0;
    for (int i = 0; i < 3; ++i) {
        double a[3] = {}, x[3], v[3];
        for (int j = 0; j < 3; ++j) {
            if (j == i) continue;
            double d[3];
            for (int c = 0; c < 3; ++c) d[c] = start.position[j][c] - start.position[i][c];
            const double r = std::hypot(d[0], d[1], d[2]);
            for (int c = 0; c < 3; ++c) a[c] += start.G * start.mass[j] * d[c] / (r * r * r);
        }
        add_cross_product(start.velocity[i], a, start.mass[i] * dt * dt, change);
        for (int c = 0; c < 3; ++c) {
            x[c] = start.position[i][c] - center[c] + dt * (start.velocity[i][c] - drift[c]);
            v[c] = start.velocity[i][c] - drift[c] + dt * a[c];
        }
        bound += start.mass[i] * std::hypot(x[0], x[1], x[2]) * std::hypot(v[0], v[1], v[2]);
    }
    const double expected = std::hypot(change[0], change[1], change[2]) / bound;
    ASSERT_GT(expected, 1e-4);
    for (const Processor& processor : cpu_processors()) {
        const Outcome outcome = processor.run(problem, {123456}).front();
        EXPECT_NEAR(outcome.angular_momentum_error, expected, 1e-12) << processor.name;
    }
}

// Kicks and drifts conserve angular momentum exactly; 50,000 roundings of 1e-16 remain.
TEST(PathFields, HaveNoAngularMomentumErrorInSymplecticMethods) {
    Problem problem = published_map();
    problem.method = Method::Leapfrog;
    problem.separation = never;
    problem.want_state = true;
    const Outcome outcome = cpu_processors().front().run(problem, {83 * 1000 + 10}).front();
    EXPECT_LT(outcome.angular_momentum_error, 1e-12);
    problem.method = Method::Euler;
    EXPECT_GT(cpu_processors().front().run(problem, {83 * 1000 + 10}).front().angular_momentum_error, 1e-9);
}

// Published: bodies 2 and 3 pass at t = 15.82992, and body 1 escapes after the approach of all three at t =
// 47 or so. That its escape is certain takes it some time more.
TEST(PathFields, DescribeThePythagoreanProblem) {
    Problem problem;
    set_bodies(problem, 1, {3, 4, 5}, {{1, 3, 0}, {-2, -1, 0}, {1, -1, 0}}, {});
    set_time(problem, 0.07, 1000);
    problem.same_forces = true;
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        const Outcome outcome = processor.run(watched(problem, 1e-13), {0}).front();
        EXPECT_NEAR(outcome.closest_time, 15.82992, 1e-5);
        EXPECT_EQ(outcome.closest_pair, 2);
        EXPECT_EQ(outcome.escaper, 1);
        EXPECT_GT(outcome.escape_time, 47);
        EXPECT_LT(outcome.escape_time, 70);
        EXPECT_LT(outcome.angular_momentum_error, 1e-9);

        Problem stopped = watched(problem, 1e-13);
        stopped.stop_at_escape = true;
        const Outcome end = processor.run(stopped, {0}).front();
        EXPECT_EQ(end.escape_time, outcome.escape_time);
        EXPECT_EQ(end.time_together, outcome.escape_time);
        EXPECT_EQ(end.quality, static_cast<int>(Quality::Complete));
        EXPECT_LT(end.step_count, outcome.step_count);
    }
}

// A circular binary of bodies 1 and 3 at distance 0.1, and body 2 at `rho` from their center, receding with
// `velocity`. All masses and G are 1.
Problem binary_and_body(double rho, double velocity) {
    Problem problem;
    const double speed = std::sqrt(1 / 0.1 / 2);  // of each: v^2 = G m / (2 d)
    set_bodies(problem, 1, {1, 1, 1}, {{0.05, 0, 0}, {0, 0, rho}, {-0.05, 0, 0}},
               {{0, speed, 0}, {0, 0, velocity}, {0, -speed, 0}});
    set_time(problem, 0.01, 100);
    problem.same_forces = true;
    return problem;
}

// The condition's own numbers: with E the total energy, a = 3 / |E|, and the velocity at which rho'^2 / 2 =
// 3 / (rho - a). The first step is dt long.
TEST(PathFields, NoticeTheEscapeOfAnUnboundBody) {
    const double rho = 10;
    double velocity = std::sqrt(2 * 3 / (rho - 1));
    double reach = 0;
    for (int i = 0; i < 20; ++i) {  // a depends on the velocity
        const double outer = 2.0 / 3 * velocity * velocity / 2 - 2 / std::hypot(rho, 0.05);
        reach = 3 / std::abs(outer - 1 / 0.2);
        velocity = std::sqrt(2 * 3 / (rho - reach));
    }
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        const auto run = [&](double v) {
            return processor.run(watched(binary_and_body(rho, v), 1e-9), {0}).front();
        };
        const Outcome escapes = run(1.001 * velocity);
        EXPECT_EQ(escapes.escaper, 2);
        EXPECT_GT(escapes.escape_time, 0);
        EXPECT_LE(escapes.escape_time, 0.01);
        EXPECT_EQ(escapes.closest_pair, 1);
        EXPECT_NEAR(escapes.closest_approach, 0.1, 1e-4);  // the third body perturbs the circle: (0.1/10)^3
        const Outcome later = run(0.99 * velocity);        // unbound, but nearer than the condition admits
        EXPECT_EQ(later.escaper == 2 && later.escape_time <= 0.01, false);
        const Outcome bound = run(0.9 * std::sqrt(2 * 3 / rho));
        EXPECT_EQ(bound.escaper, 0);
        EXPECT_TRUE(std::isnan(bound.escape_time));
    }
}

// At positive total energy no bound keeps two bodies together, so nothing is certain.
TEST(PathFields, NoticeNoEscapeAtPositiveEnergy) {
    const Outcome outcome =
        cpu_processors().front().run(watched(binary_and_body(10, 100), 1e-9), {0}).front();
    EXPECT_EQ(outcome.escaper, 0);
}

// Bodies 1 and 2 on an ellipse of eccentricity 0.9 from its far end; the third is far away and light. The
// closest approach is after half the period, at a (1 - e). Its time is interpolated in one step of about a
// tenth of the passage (r / v = 0.1 / sqrt(19)), within a hundredth of the step.
TEST(PathFields, FindTheTimeOfTheClosestApproach) {
    Problem problem;
    const double speed = std::sqrt(0.1 / 1.9 * 2);  // relative: v^2 = G M / a (1 - e) / (1 + e)
    set_bodies(problem, 1, {1, 1, 1e-12}, {{0.95, 0, 0}, {-0.95, 0, 0}, {0, 0, 1e4}},
               {{0, speed / 2, 0}, {0, -speed / 2, 0}, {0, 0, 0}});
    set_time(problem, 0.04, 100);
    problem.same_forces = true;
    const double half_period = 3.14159265358979323846 / std::sqrt(2);
    for (const Processor& processor : cpu_processors()) {
        const Outcome outcome = processor.run(watched(problem, 1e-11), {0}).front();
        EXPECT_EQ(outcome.closest_pair, 0);
        EXPECT_NEAR(outcome.closest_time, half_period, 0.1 / std::sqrt(19.0) / 1000) << processor.name;
        EXPECT_NEAR(outcome.closest_approach, 0.1, 1e-6);
    }
}

// The map of Agekyan and Anosova on a grid of 20 x 20 starts, 274 of them within the map. Escapes by heyoka
// (make_path_references.py). Almost all of the first ones are regular. Of the 240 other starts 26 escape
// until t = 5 and 56 until t = 10, and chaos makes that a draw: the standard deviations of the difference of
// two draws are 6.8 and 9.3.
TEST(PathFields, HaveTheEscapesOfAgekyanAndAnosova) {
    Problem problem;
    set_bodies(problem, 1, {1, 1, 1}, {{-0.5, 0, 0}, {0.5, 0, 0}, {}}, {});
    set_time(problem, 0.01, 1000);
    problem.same_forces = true;
    constexpr std::int64_t cells = 20;
    const auto middles = [](double size) {
        const double first = size * 0.5 / cells;
        return ParameterSource{.from = first, .to = first + size, .intervals = cells, .count = cells};
    };
    problem.sources.position[2][0] = middles(0.5);
    problem.sources.position[2][1] = middles(0.9);
    problem.sources.position[2][1].stride = cells;
    std::vector<std::int64_t> points;
    for (std::int64_t i = 0; i < cells * cells; ++i) {
        const Parameters start = parameters_at(problem, i);
        if (std::hypot(start.position[2][0] + 0.5, start.position[2][1]) <= 1) points.push_back(i);
    }
    ASSERT_EQ(points.size(), 274u);
    Problem escapes = watched(problem, 1e-11);
    escapes.stop_at_escape = true;
    const auto outcomes = cpu_processors().front().run(escapes, points);
    const auto escaped_by = [&](double time) {
        return std::count_if(outcomes.begin(), outcomes.end(),
                             [&](const Outcome& outcome) { return outcome.escape_time <= time; });
    };
    EXPECT_NEAR(static_cast<double>(escaped_by(2)), 34, 3);
    EXPECT_NEAR(static_cast<double>(escaped_by(5)), 60, 2 * 6.8);
    EXPECT_NEAR(static_cast<double>(escaped_by(10)), 90, 2 * 9.3);
    // By heyoka 48, 31 and 11 of bodies 1, 2 and 3.
    std::array<int, 4> bodies{};
    for (const Outcome& outcome : outcomes) ++bodies[static_cast<std::size_t>(outcome.escaper)];
    EXPECT_LT(bodies[3], bodies[2]);
    EXPECT_LT(bodies[2], bodies[1]);
}

}  // namespace
}  // namespace voltpile::threebody
