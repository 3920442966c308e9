// Tests the adaptive methods: its order, problems with known outcomes, the time at which twins part, budgets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "threebody/adaptive_outcome.h"
#include "threebody/integrators/gbs10.h"
#include "threebody/integrators/rkn8.h"
#include "threebody/reference_problems.h"

namespace voltpile::threebody {
namespace {

constexpr double eight_period = 6.32591398292621;  // of the figure-eight

constexpr Method adaptive_methods[] = {Method::RungeKuttaNystrom8, Method::GraggBulirschStoer10};

Problem with_method(Method method, Problem problem, double tolerance) {
    problem.method = method;
    problem.tolerance = tolerance;
    problem.most_steps = 1000000;
    problem.want_state = true;
    return problem;
}
Problem with_rkn8(const Problem& problem, double tolerance) {
    return with_method(Method::RungeKuttaNystrom8, problem, tolerance);
}
Problem with_gbs10(const Problem& problem, double tolerance) {
    return with_method(Method::GraggBulirschStoer10, problem, tolerance);
}

// Integrates the figure-eight over one period in equal steps. Returns the distance of the bodies from their
// start, and in `largest_error` the largest estimated error of a step.
template <class Integrator>
double error_of_equal_steps(int steps, double& largest_error) {
    using Motion = typename Integrator::template Motion<double>;
    const Parameters parameters = parameters_at(figure_eight(Method::Euler, steps, eight_period), 0);
    PairConstants<double> constants;
    set_pair_constants(parameters, constants, Assign<double>{});
    Motion start, twin;
    initial_motions(parameters, start, twin);
    set_center(start, 0.0);
    Motion motion = start;
    accelerations(motion.x, constants, motion.a);
    largest_error = 0;
    for (int i = 0; i < steps; ++i) {
        Motion next;
        double error[6];
        Integrator::attempt(motion, eight_period / steps, constants, next, error);
        for (const double e : error) largest_error = std::max(largest_error, std::abs(e));
        motion = next;
    }
    double r2 = 0;
    for (int c = 0; c < 6; ++c) r2 += (motion.x[c] - start.x[c]) * (motion.x[c] - start.x[c]);
    return std::sqrt(r2);
}

TEST(Adaptive, HasOrderEight) {
    double estimate_40 = 0;
    double estimate_80 = 0;
    const double ratio = error_of_equal_steps<RungeKuttaNystrom8>(40, estimate_40) /
                         error_of_equal_steps<RungeKuttaNystrom8>(80, estimate_80);
    // 2^8 = 256, more where the terms of order 9 still count: less than three times as much.
    EXPECT_GT(ratio, 200);
    EXPECT_LT(ratio, 768);
    // The embedded formula has order 6, so the difference in one step is of order 7: 2^7 = 128.
    EXPECT_GT(estimate_40 / estimate_80, 90);
    EXPECT_LT(estimate_40 / estimate_80, 256);
}

// The center of the chain stays at body 1.
TEST(Adaptive, HasOrderTenByExtrapolation) {
    double estimate_40 = 0;
    double estimate_80 = 0;
    const double ratio = error_of_equal_steps<GraggBulirschStoer10>(40, estimate_40) /
                         error_of_equal_steps<GraggBulirschStoer10>(80, estimate_80);
    // 2^10 = 1024, and the terms of higher order as above.
    EXPECT_GT(ratio, 700);
    EXPECT_LT(ratio, 3 * 1024);
    // The extrapolation without the coarsest sequence has order 8: 2^9 = 512 in one step.
    EXPECT_GT(estimate_40 / estimate_80, 360);
    EXPECT_LT(estimate_40 / estimate_80, 1024);
}

TEST(Adaptive, FollowsTheFigureEightForAHundredPeriods) {
    // The published start has 14 digits: 1e-14, times 100 periods, times the growth of a stable orbit's phase
    // (again proportional to time) stays below 1e-9. The rest is for the method: 1e-13 a step, about 10^4
    // steps.
    for (const Processor& processor : cpu_processors()) {
        for (const Method method : adaptive_methods) {
            SCOPED_TRACE(processor.name + ", method " + std::to_string(static_cast<int>(method)));
            const Problem problem =
                with_method(method, figure_eight(Method::Euler, 1000, 100 * eight_period), 1e-13);
            const Outcome outcome = processor.run(problem, {0}).front();
            EXPECT_EQ(outcome.steps_together, 1000);
            EXPECT_EQ(outcome.quality, static_cast<int>(Quality::Complete));
            EXPECT_LT(outcome.energy_error, 1e-11);
            for (int i = 0; i < 9; ++i) {
                EXPECT_NEAR(outcome.final_state[6 * (i / 3) + i % 3],
                            problem.sources.position[i / 3][i % 3].base, 1e-6);
            }
        }
    }
}

Problem burrau(double time) {
    Problem problem;
    set_bodies(problem, 1, {3, 4, 5}, {{1, 3, 0}, {-2, -1, 0}, {1, -1, 0}}, {});
    set_time(problem, time / 1000, 1000);
    problem.separation = never;
    problem.same_forces = true;
    problem.want_closest_approach = true;
    return problem;
}

// Published: bodies 2 and 3 pass at 4.1390e-4 at t = 15.82992. There the rounding of positions of size 1 is
// 3e-13 of their distance, in several hundred steps: 2e-10 of a potential energy 4,000 times the total, and
// grown in the encounters before, 2e-4 of the distance.
TEST(Adaptive, FindsThePythagoreanProblemsClosestApproach) {
    for (const Processor& processor : cpu_processors()) {
        for (const Method method : adaptive_methods) {
            SCOPED_TRACE(processor.name + ", method " + std::to_string(static_cast<int>(method)));
            const Outcome outcome = processor.run(with_method(method, burrau(16), 1e-13), {0}).front();
            EXPECT_EQ(outcome.quality, static_cast<int>(Quality::Complete));
            EXPECT_NEAR(outcome.closest_approach, 4.1390e-4, 2e-4 * 4.1390e-4);
            EXPECT_LT(outcome.energy_error, 1e-6);
        }
    }
}

// Published: at t = 70 body 1 escapes at (6.935, 20.266): to three digits, half a unit of the third. The
// encounters before amplify errors by 1e12, so the digits of distances decide: a chain keeps them.
TEST(Adaptive, FollowsThePythagoreanProblemToTheEscape) {
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        const Outcome outcome = processor.run(with_gbs10(burrau(70), 1e-14), {0}).front();
        EXPECT_EQ(outcome.quality, static_cast<int>(Quality::Complete));
        EXPECT_NEAR(outcome.final_state[0], 6.935, 0.005);
        EXPECT_NEAR(outcome.final_state[1], 20.266, 0.05);
    }
}

// With positions relative to body 1, rounding errors in FP64 have grown to tenths by t = 70. So this test
// checks which body escapes, when, and roughly where.
TEST(Adaptive, FollowsThePythagoreanProblemRelativeToBody1) {
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        const Outcome outcome = processor.run(with_rkn8(burrau(70), 1e-13), {0}).front();
        EXPECT_EQ(outcome.quality, static_cast<int>(Quality::Complete));
        EXPECT_NEAR(outcome.final_state[0], 6.935, 1.5);
        EXPECT_NEAR(outcome.final_state[1], 20.266, 2.5);
    }
}

// The names of the bodies mean nothing to nature, but choose the coordinates that the chain starts with and
// where its center goes. At t = 16 errors have grown by less than 1e6.
TEST(Adaptive, FollowsTheSamePathsInAnyOrderOfBodies) {
    const Processor processor = cpu_processors().front();
    const Problem problem = with_gbs10(burrau(16), 1e-13);
    const Outcome expected = processor.run(problem, {0}).front();
    for (const std::array<int, 3>& order : {std::array{1, 2, 0}, std::array{2, 0, 1}, std::array{1, 0, 2},
                                            std::array{2, 1, 0}, std::array{0, 2, 1}}) {
        Problem other = problem;
        for (int i = 0; i < 3; ++i) {
            const int from = order[static_cast<std::size_t>(i)];
            other.sources.mass[i] = problem.sources.mass[from];
            for (int c = 0; c < 3; ++c) other.sources.position[i][c] = problem.sources.position[from][c];
        }
        const Outcome outcome = processor.run(other, {0}).front();
        EXPECT_NEAR(outcome.closest_approach, expected.closest_approach, 1e-9);
        for (int k = 0; k < 18; ++k) {
            const int from = order[static_cast<std::size_t>(k / 6)];
            EXPECT_NEAR(outcome.final_state[k], expected.final_state[6 * from + k % 6], 1e-6) << k;
        }
    }
}

// Forward, then with reversed velocities back to the start. The start's neighborhood grows on the way by less
// than 1e4 at this point of the map, which is quiet.
void expect_return_with_reversed_velocities(Method method) {
    Problem problem = with_method(method, published_map(), 1e-12);
    problem.separation = never;
    const std::int64_t point = 83 * 1000 + 10;
    const Processor processor = cpu_processors().front();
    const Outcome there = processor.run(problem, {point}).front();
    const Parameters start = parameters_at(problem, point);
    Problem back = problem;
    double x[3][3], v[3][3];
    for (int i = 0; i < 9; ++i) {
        x[i / 3][i % 3] = there.final_state[6 * (i / 3) + i % 3];
        v[i / 3][i % 3] = -there.final_state[6 * (i / 3) + 3 + i % 3];
    }
    back.sources.position[0][0] = back.sources.position[0][1] = {};
    set_bodies(back, start.G, start.mass, x, v);
    const Outcome again = processor.run(back, {0}).front();
    for (int i = 0; i < 9; ++i) {
        EXPECT_NEAR(again.final_state[6 * (i / 3) + i % 3], start.position[i / 3][i % 3], 1e-6);
    }
}

TEST(Adaptive, ReturnsToTheStartWithReversedVelocities) {
    for (const Method method : adaptive_methods) expect_return_with_reversed_velocities(method);
}

// Yoshida's method is independent and has order 4; its steps of 1e-4 leave an error of the parting time well
// below a step at points without close encounters.
TEST(Adaptive, FindsTheTimeAtWhichTwinsPart) {
    const Processor processor = cpu_processors().front();
    Problem fixed = published_map();
    set_time(fixed, 1e-4, 500000);
    fixed.method = Method::Yoshida4;
    fixed.want_state = fixed.want_closest_approach = true;
    const auto points = consecutive(400 * 1000 + 20, 24, 40);
    const auto expected = processor.run(fixed, points);
    for (const Method method : adaptive_methods) {
        Problem adaptive = with_method(method, published_map(), 1e-12);
        set_time(adaptive, 1e-4, 500000);
        const auto outcomes = processor.run(adaptive, points);
        int compared = 0;
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (expected[i].closest_approach < 0.5 || expected[i].steps_together == 500000) continue;
            ++compared;
            // Exactly the same step but for the error of Yoshida's method.
            EXPECT_NEAR(outcomes[i].steps_together, expected[i].steps_together, 2) << points[i];
            EXPECT_NEAR(outcomes[i].time_together, 1e-4 * outcomes[i].steps_together, 1.0001e-4);
            EXPECT_LT(outcomes[i].energy_error, 1e-9);
        }
        EXPECT_GE(compared, 3);
    }
}

// With smaller tolerances the time converges, and every pair is followed to its end.
TEST(Adaptive, ConvergesWithTheTolerance) {
    const Processor processor = cpu_processors().front();
    std::vector<std::int64_t> points;
    for (std::int64_t row = 5; row < 1000; row += 61) {
        for (std::int64_t column = 5; column < 1000; column += 61) points.push_back(1000 * row + column);
    }
    const auto coarse = processor.run(with_rkn8(published_map(), 1e-9), points);
    const auto fine = processor.run(with_rkn8(published_map(), 1e-12), points);
    int different = 0;
    int parted = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        EXPECT_EQ(coarse[i].quality, static_cast<int>(Quality::Complete)) << points[i];
        EXPECT_LT(coarse[i].step_count, 20000);
        parted += fine[i].steps_together < 50000 ? 1 : 0;
        different += std::abs(coarse[i].time_together - fine[i].time_together) > 1e-3 ? 1 : 0;
    }
    EXPECT_GT(parted, 40);
    // Of a million points 0.02 % pass so close that they differ: of 289, none or one.
    EXPECT_LE(different, 1);
}

TEST(Adaptive, GivesTheSameInAnyLane) {
    for (const Method method : adaptive_methods) {
        Problem problem = with_method(method, published_map(20), 1e-8);
        problem.want_closest_approach = true;
        for (const Processor& processor : cpu_processors()) {
            const auto expected = processor.run(problem, consecutive(0, 400));
            for (const std::int64_t alone : {0, 137, 399}) {
                const Outcome outcome = processor.run(problem, {alone}).front();
                EXPECT_EQ(std::memcmp(&outcome, &expected[static_cast<std::size_t>(alone)], sizeof outcome),
                          0);
            }
        }
    }
}

TEST(Adaptive, StopsAtTheBudgetOfSteps) {
    Problem problem = with_rkn8(published_map(), 1e-9);
    problem.most_steps = 10;
    for (const Processor& processor : cpu_processors()) {
        const Outcome outcome = processor.run(problem, {123456}).front();
        EXPECT_EQ(outcome.step_count, 10);
        EXPECT_EQ(outcome.quality, static_cast<int>(Quality::Stopped));
        EXPECT_LT(outcome.time_together, 50);
        EXPECT_EQ(outcome.steps_together, static_cast<int>(outcome.time_together / 0.001));
    }
}

// Two bodies at rest fall into each other after pi/2 sqrt(r^3 / (2 G M)): no step passes that singularity.
TEST(Adaptive, StopsAtACollision) {
    Problem problem;
    set_bodies(problem, 1, {1, 1, 1e-12}, {{0.5, 0, 0}, {-0.5, 0, 0}, {0, 50, 0}}, {});
    set_time(problem, 0.01, 500);
    problem.separation = never;
    const double collision = 3.14159265358979323846 / 2 * std::sqrt(1.0 / 4);
    for (const Processor& processor : cpu_processors()) {
        const Outcome outcome = processor.run(with_rkn8(problem, 1e-9), {0}).front();
        EXPECT_EQ(outcome.quality, static_cast<int>(Quality::Stopped));
        EXPECT_NEAR(outcome.time_together, collision, 1e-6);
    }
}

TEST(Adaptive, CountsTwinsThatStartTooFarApartAsParted) {
    Problem problem = with_rkn8(published_map(), 1e-9);
    problem.separation = 1e-4;  // less than the shift
    EXPECT_EQ(cpu_processors().front().run(problem, {5}).front().steps_together, 0);
    problem = with_rkn8(published_map(), 1e-9);
    problem.sources.position[0][2].base = NAN;
    EXPECT_EQ(cpu_processors().front().run(problem, {5}).front().steps_together, 0);
}

}  // namespace
}  // namespace voltpile::threebody
