// Tests orders and errors of the integrators on problems with known solutions.
#include <gtest/gtest.h>

#include <algorithm>

#include "threebody/diagnostics.h"
#include "threebody/reference_problems.h"

namespace voltpile::threebody {
namespace {

constexpr double figure_eight_period = 6.32591398292621;

// Returns the distance of the bodies from where `problem` starts: the norm of all nine coordinates.
double distance_from_start(const Problem& problem, const Outcome& outcome) {
    double r2 = 0;
    for (int body = 0; body < 3; ++body) {
        for (int c = 0; c < 3; ++c) {
            const double d = outcome.final_state[6 * body + c] - problem.sources.position[body][c].base;
            r2 += d * d;
        }
    }
    return std::sqrt(r2);
}

// Returns the position error after some periods of the figure-eight.
double position_error(const Processor& processor, Method method, std::int32_t steps, int periods = 1) {
    const Problem problem = figure_eight(method, steps * periods, periods * figure_eight_period);
    const Outcome outcome = processor.run(problem, {0}).front();
    EXPECT_EQ(outcome.steps_together, steps * periods);
    return distance_from_start(problem, outcome);
}

TEST(Integrators, ReturnToTheFigureEightsStartWithinTheirOrder) {
    for (const Processor& processor : cpu_processors()) {
        for (const FigureEightError& expected : kFigureEightErrors) {
            SCOPED_TRACE(processor.name + ", method " + std::to_string(static_cast<int>(expected.method)));
            const double error = position_error(processor, expected.method, expected.steps);
            const double of_half_steps = position_error(processor, expected.method, 2 * expected.steps);
            RecordProperty("error", std::to_string(error));
            EXPECT_NEAR(error, expected.error, expected.tolerance * expected.error);
            EXPECT_NEAR(of_half_steps, expected.error_of_half_steps,
                        expected.tolerance * expected.error_of_half_steps);
        }
    }
}

TEST(Integrators, FollowTheFigureEightForAHundredPeriods) {
    const Processor processor = cpu_processors().front();
    for (const FigureEightError& expected : kFigureEightErrors) {
        SCOPED_TRACE(static_cast<int>(expected.method));
        EXPECT_NEAR(position_error(processor, expected.method, expected.steps, 100),
                    expected.error_100_periods, expected.tolerance * expected.error_100_periods);
    }
}

// Symmetric methods retrace their steps when velocities are reversed, whatever their error: what remains is
// rounding, 1e-16 in each of 2,000 steps at most, and the growth of differences on this stable orbit, in
// proportion to time. The others miss the start by about their error.
TEST(Integrators, ReturnToTheStartWithReversedVelocitiesIfSymmetric) {
    const Processor processor = cpu_processors().front();
    const auto miss = [&](Method method, std::int32_t steps) {
        const Problem there = figure_eight(method, steps, figure_eight_period / 3);
        const Outcome outcome = processor.run(there, {0}).front();
        Problem back = there;
        for (int i = 0; i < 9; ++i) {
            back.sources.position[i / 3][i % 3].base = outcome.final_state[6 * (i / 3) + i % 3];
            back.sources.velocity[i / 3][i % 3].base = -outcome.final_state[6 * (i / 3) + 3 + i % 3];
        }
        return distance_from_start(there, processor.run(back, {0}).front());
    };
    EXPECT_LT(miss(Method::Leapfrog, 1000), 1e-11);
    EXPECT_LT(miss(Method::Yoshida4, 1000), 1e-11);
    EXPECT_LT(miss(Method::SymplecticNystrom6, 20), 1e-12);
    EXPECT_GT(miss(Method::Euler, 1000), 1e-3);
    EXPECT_GT(miss(Method::RungeKutta4, 100), 1e-9);
}

// Energy: -1.287141995631852. A non-symplectic method drifts by its order; a symplectic one oscillates below
// dt^order.
TEST(Integrators, ConserveTheFigureEightsEnergy) {
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        const auto error = [&](Method method, std::int32_t steps) {
            return processor.run(figure_eight(method, steps, figure_eight_period), {0}).front().energy_error;
        };
        // First order: twice the steps, half the drift, within the 15 % that the second-order term still
        // makes here.
        EXPECT_NEAR(error(Method::Euler, 8000) / error(Method::Euler, 16000), 2, 0.3);
        EXPECT_LT(error(Method::Leapfrog, 2000), 1e-5);           // (T/2000)^2
        EXPECT_LT(error(Method::Yoshida4, 2000), 1e-10);          // (T/2000)^4
        EXPECT_LT(error(Method::SymplecticNystrom6, 200), 1e-9);  // (T/200)^6
        EXPECT_LT(error(Method::RungeKutta4, 2000), 1e-10);
    }
}

// Published energies, through the program's own function.
TEST(Diagnostics, EnergiesOfKnownProblems) {
    const auto energy = [](const Problem& problem) {
        System<double> first, twin;
        const Parameters parameters = parameters_at(problem, 0);
        initial_pair(parameters, first, twin);
        return total_energy(first, parameters.G, parameters.mass);
    };
    // The starting values have 14 digits.
    EXPECT_NEAR(energy(figure_eight(Method::Leapfrog, 1000, figure_eight_period)), -1.287141995631852, 1e-13);
    Problem burrau;
    set_bodies(burrau, 1, {3, 4, 5}, {{1, 3, 0}, {-2, -1, 0}, {1, -1, 0}}, {});
    EXPECT_NEAR(energy(burrau), -769.0 / 60, 1e-14 * 13);  // a few roundings of a number of size 13
}

Problem pythagorean(Method method, double dt, double time) {
    Problem problem;
    set_bodies(problem, 1, {3, 4, 5}, {{1, 3, 0}, {-2, -1, 0}, {1, -1, 0}}, {});
    set_time(problem, dt, static_cast<std::int32_t>(std::lround(time / dt)));
    problem.method = method;
    problem.separation = never;
    problem.same_forces = true;
    problem.want_closest_approach = problem.want_state = true;
    return problem;
}

// Bodies 2 and 3 pass at 4.1390e-4 at t = 15.82992, at a speed of about sqrt(2 * 9 / 4.1e-4) = 210. Steps of
// 2e-7 are 4e-5 of path, so the smallest distance at a full step exceeds the true one by less than 5e-7;
// rounding and the method's error, grown in several encounters on the way, are allowed 1 % together.
TEST(Integrators, FindThePythagoreanProblemsClosestApproach) {
    const Processor processor = cpu_processors().front();
    const Outcome outcome = processor.run(pythagorean(Method::RungeKutta4, 1e-6, 15.9), {0}).front();
    EXPECT_NEAR(outcome.closest_approach, 4.1390e-4, 4.1390e-6);
}

// The equilateral triangle turns with omega = sqrt(3) (masses, side and G of 1); a disturbance grows by e^(2
// pi / sqrt 2) = 85.02 a period. Twins that differ by 1e-9 differ by 85.02 times more after the second period
// than after the first, once the growing direction dominates.
TEST(Integrators, ReproduceTheLagrangeTrianglesGrowthRate) {
    const double period = 2 * 3.14159265358979323846 / std::sqrt(3.0);
    const double radius = 1 / std::sqrt(3.0);
    double position[3][3] = {};
    double velocity[3][3] = {};
    for (int i = 0; i < 3; ++i) {
        const double angle = 2 * 3.14159265358979323846 * i / 3;
        position[i][0] = radius * std::cos(angle);
        position[i][1] = radius * std::sin(angle);
        velocity[i][0] = -std::sqrt(3.0) * position[i][1];
        velocity[i][1] = std::sqrt(3.0) * position[i][0];
    }
    const Processor processor = cpu_processors().front();
    const auto end = [&](int periods, double shift) {
        auto start = position;
        double moved[3][3];
        std::copy(&start[0][0], &start[0][0] + 9, &moved[0][0]);
        moved[0][0] += shift;
        Problem problem;
        set_bodies(problem, 1, {1, 1, 1}, moved, velocity);
        set_time(problem, period / 10000, 10000 * periods);
        problem.method = Method::RungeKutta4;
        problem.separation = never;
        problem.same_forces = true;
        problem.want_state = true;
        return processor.run(problem, {0}).front();
    };
    const auto distance = [&](int periods) {
        const Outcome a = end(periods, 0);
        const Outcome b = end(periods, 1e-9);
        double r2 = 0;
        for (int k = 0; k < 18; ++k) {
            const double d = a.final_state[k] - b.final_state[k];
            r2 += d * d;
        }
        return std::sqrt(r2);
    };
    // 3 %: the directions that do not grow, and the one that grows with time itself, are about 1/85 of the
    // whole.
    EXPECT_NEAR(distance(3) / distance(2), 85.02, 0.03 * 85.02);
}

}  // namespace
}  // namespace voltpile::threebody
