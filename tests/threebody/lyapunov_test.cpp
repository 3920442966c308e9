// Tests the largest Lyapunov exponent and MEGNO on orbits whose stability is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "threebody/reference_problems.h"

namespace voltpile::threebody {
namespace {

constexpr double pi = 3.14159265358979323846;

Problem with_deviation(Problem problem, double time) {
    set_time(problem, time / 1000, 1000);
    problem.method = Method::RungeKuttaNystrom8;
    problem.tolerance = 1e-13;
    problem.most_steps = 10000000;
    problem.separation = never;
    problem.want_deviation = true;
    problem.sources.twin_shift[0].base = 1e-3;
    problem.sources.twin_shift[1].base = -2e-4;
    return problem;
}

// Three bodies on an equilateral triangle of side 1 that turns with omega = sqrt(M).
Problem lagrange(const double (&mass)[3]) {
    const double total = mass[0] + mass[1] + mass[2];
    double x[3][3] = {{0, 0, 0}, {1, 0, 0}, {0.5, std::sqrt(0.75), 0}};
    double v[3][3] = {};
    double center[2] = {};
    for (int i = 0; i < 3; ++i) {
        for (int c = 0; c < 2; ++c) center[c] += mass[i] * x[i][c] / total;
    }
    for (int i = 0; i < 3; ++i) {
        for (int c = 0; c < 2; ++c) x[i][c] -= center[c];
        v[i][0] = -std::sqrt(total) * x[i][1];
        v[i][1] = std::sqrt(total) * x[i][0];
    }
    Problem problem;
    set_bodies(problem, 1, mass, x, v);
    problem.same_forces = true;
    return problem;
}

double growth(const Problem& problem, double time, const Processor& processor) {
    return processor.run(with_deviation(problem, time), {0}).front().lyapunov_exponent * time;
}

// The theory of Gascheau (1843) and Routh (1875): with k = (m1 m2 + m1 m3 + m2 m3) / M^2 deviations grow as
// exp(s t), s^2 = omega^2 (-1 + sqrt(1 - 27 k)) / 2. For 27 k > 1 the real part of s is the exponent; the
// norm of the deviation also oscillates with twice the imaginary part, so growth is compared over whole
// periods. For equal masses the factor of a revolution is exp(2 pi / sqrt 2) = 85.02. At the first time the
// growing solution has outgrown the others by exp(8); at the last the orbit itself, started with an error of
// 1e-16, is still within exp(20) of it.
TEST(Lyapunov, IsThatOfTheEquilateralTriangle) {
    const double masses[][3] = {{1, 1, 1}, {1, 2, 3}, {5, 1, 1}};
    for (const auto& mass : masses) {
        const double total = mass[0] + mass[1] + mass[2];
        const double k = (mass[0] * mass[1] + mass[0] * mass[2] + mass[1] * mass[2]) / (total * total);
        ASSERT_GT(27 * k, 1);
        const double imaginary = std::sqrt(27 * k - 1) / 2;  // of s^2 / omega^2, whose real part is -1/2
        const double size = std::hypot(0.5, imaginary);
        const double exponent = std::sqrt(total * (size - 0.5) / 2);
        const double period = pi / std::sqrt(total * (size + 0.5) / 2);
        const double first = period * std::ceil(8 / exponent / period);
        const double last = first + period * std::max(1.0, std::floor((20 / exponent - first) / period));
        for (const Processor& processor : cpu_processors()) {
            const double rate =
                (growth(lagrange(mass), last, processor) - growth(lagrange(mass), first, processor)) /
                (last - first);
            EXPECT_NEAR(rate, exponent, 1e-3 * exponent) << processor.name << " " << mass[0];
            // For d = exp(s t), Y is s t and its mean half of that; the start and the oscillation change it
            // somewhat.
            const Outcome outcome = processor.run(with_deviation(lagrange(mass), last), {0}).front();
            EXPECT_NEAR(outcome.megno, exponent * last / 2, 0.2 * exponent * last / 2);
        }
    }
}

// 27 k < 1: stable, so deviations grow with time at most, and MEGNO tends to 2.
TEST(Lyapunov, IsZeroForTheStableTriangle) {
    const Outcome outcome =
        cpu_processors().front().run(with_deviation(lagrange({1, 0.01, 0.001}), 2000), {0}).front();
    EXPECT_LT(outcome.lyapunov_exponent, std::log(1e4) / 2000);
    EXPECT_NEAR(outcome.megno, 2, 0.1);
}

// MEGNO by REBOUND's variational equations (make_path_references.py). Their deviation starts in another
// direction and has another norm, which shifts MEGNO by a few percent while it tends to 2.
TEST(Lyapunov, AgreesWithReboundOnRegularOrbits) {
    Problem hierarchy;
    set_bodies(hierarchy, 1, {1, 0.01, 0.001}, {{0, 0, 0}, {1, 0, 0}, {4, 0, 0}},
               {{0, 0, 0}, {0, std::sqrt(1.01), 0}, {0, std::sqrt(1.011 / 4), 0}});
    hierarchy.same_forces = true;
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        // Stable (C. Simo, 2002).
        const Problem eight = figure_eight(Method::Euler, 1000, 1);
        for (const auto& [problem, megno] : {std::pair{eight, 1.9912}, std::pair{hierarchy, 2.0069}}) {
            const Outcome outcome = processor.run(with_deviation(problem, 2000), {0}).front();
            EXPECT_NEAR(outcome.megno, megno, 0.05);
            EXPECT_LT(outcome.lyapunov_exponent, std::log(1e4) / 2000);
        }
    }
}

TEST(Lyapunov, DoesNotDependOnTheLengthOfTheShiftOrTheLane) {
    Problem problem = with_deviation(published_map(20), 50);
    const Processor processor = cpu_processors().front();
    const auto expected = processor.run(problem, consecutive(0, 400));
    const Outcome alone = processor.run(problem, {137}).front();
    EXPECT_EQ(std::memcmp(&alone, &expected[137], sizeof alone), 0);
    // Powers of 2 change nothing but roundings.
    for (auto& shift : problem.sources.twin_shift) shift.base *= 1024;
    const Outcome far = processor.run(problem, {137}).front();
    EXPECT_NEAR(far.lyapunov_exponent, expected[137].lyapunov_exponent,
                1e-4 * expected[137].lyapunov_exponent);
}

}  // namespace
}  // namespace voltpile::threebody
