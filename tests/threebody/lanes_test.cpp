// Tests that the outcome of a point depends only on the point, not on neighbors, threads or ranges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <random>

#include "sweep/cpu_sweep.h"
#include "threebody/outcome_fields.h"
#include "threebody/reference_problems.h"

namespace voltpile::threebody {
namespace {

Problem small_map() {
    Problem problem = published_map(20);
    set_time(problem, 0.01, 3000);
    problem.want_state = problem.want_closest_approach = true;
    return problem;
}

void expect_equal(const Outcome& a, const Outcome& b) {
    EXPECT_EQ(a.steps_together, b.steps_together);
    EXPECT_EQ(std::memcmp(&a.energy_error, &b.energy_error, sizeof a.energy_error), 0);
    EXPECT_EQ(std::memcmp(&a.closest_approach, &b.closest_approach, sizeof a.closest_approach), 0);
    EXPECT_EQ(std::memcmp(a.final_state, b.final_state, sizeof a.final_state), 0);
}

TEST(Lanes, DoNotInfluenceEachOther) {
    const Problem problem = small_map();
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        std::vector<std::int64_t> points = consecutive(0, 400);
        const auto expected = processor.run(problem, points);
        std::shuffle(points.begin(), points.end(), std::mt19937(1));
        const auto shuffled = processor.run(problem, points);
        for (std::size_t i = 0; i < points.size(); ++i) {
            expect_equal(shuffled[i], expected[static_cast<std::size_t>(points[i])]);
        }
        for (const std::int64_t alone : {0, 137, 399}) {
            expect_equal(processor.run(problem, {alone}).front(), expected[static_cast<std::size_t>(alone)]);
        }
    }
}

std::vector<std::int32_t> sweep_in_ranges(const Problem& problem, std::int64_t points,
                                          std::int64_t range_size, std::size_t threads) {
    WorkScheduler work;
    for (std::int64_t begin = 0; begin < points; begin += range_size) {
        work.offer({begin, std::min(points, begin + range_size)});
    }
    work.close();
    std::vector<std::int32_t> result(static_cast<std::size_t>(points), -1);
    std::mutex mutex;
    const auto submit = [&](WorkRange range, std::vector<FieldBuffer> data) {
        const std::lock_guard lock(mutex);
        std::memcpy(result.data() + range.begin, data.front().data(), data.front().size());
    };
    sweep_on_cpu([&](PointStream& stream) { cpu_target(cpu_level()).sweep(problem, stream); },
                 {outcome_field("steps_together", problem)}, std::vector<int>(threads, 0), work, submit);
    return result;
}

TEST(Lanes, GiveTheSameForAnyRangesAndThreads) {
    Problem problem = small_map();
    problem.want_state = problem.want_closest_approach = false;
    const auto expected = sweep_in_ranges(problem, 400, 400, 1);
    EXPECT_EQ(std::count(expected.begin(), expected.end(), -1), 0);
    EXPECT_GT(std::count_if(expected.begin(), expected.end(), [](int n) { return n < 3000; }), 20);
    EXPECT_EQ(sweep_in_ranges(problem, 400, 7, 1), expected);
    EXPECT_EQ(sweep_in_ranges(problem, 400, 1, 3), expected);
    EXPECT_EQ(sweep_in_ranges(problem, 400, 150, 4), expected);
}

TEST(Lanes, PassOnExceptionsOfSubmit) {
    WorkScheduler work;
    for (std::int64_t i = 0; i < 400; i += 10) work.offer({i, i + 10});
    work.close();
    const auto submit = [](WorkRange, std::vector<FieldBuffer>) { throw std::runtime_error("disk full"); };
    const Problem problem = small_map();
    const std::vector<OutcomeField> fields = {outcome_field("steps_together", problem)};
    EXPECT_THROW(sweep_on_cpu([&](PointStream& stream) { cpu_target(cpu_level()).sweep(problem, stream); },
                              fields, {0, 0}, work, submit),
                 std::runtime_error);
}

TEST(Lanes, CountNanAsDiverged) {
    for (const double value :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        Problem problem = small_map();
        problem.sources.position[0][2].base = value;
        for (const Processor& processor : cpu_processors()) {
            EXPECT_EQ(processor.run(problem, {0}).front().steps_together, 0) << processor.name;
        }
    }
}

// Bodies 2 and 3 at one point attract each other without limit. With explicit Euler their momenta are NaN in
// state 1, their positions in state 2, the momentum of body 1 in state 3 and its position, which decides, in
// state 4.
TEST(Lanes, CountACollisionAsDiverged) {
    for (const bool single : {false, true}) {
        Problem problem = small_map();
        problem.sources.position[2][0].base = problem.sources.position[2][1].base = 0;
        problem.sources.position[2][2].base = 0;
        problem.single_precision = single;
        for (const Processor& processor : cpu_processors()) {
            EXPECT_EQ(processor.run(problem, {0}).front().steps_together, 4) << processor.name;
        }
    }
}

TEST(Lanes, SweepStepsAndTimeStep) {
    Problem problem = published_map(4);
    problem.same_forces = false;
    problem.separation = never;
    ParameterSource& steps = problem.sources.steps;
    steps = {.base = 0, .from = 10, .to = 40, .intervals = 3, .count = 4, .stride = 16};
    ParameterSource& dt = problem.sources.dt;
    dt = {.base = 0, .from = 0.001, .to = 0.002, .intervals = 1, .count = 2, .stride = 64};
    problem.largest_steps = 40;
    problem.want_state = true;
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        const auto outcomes = processor.run(problem, consecutive(0, 128));
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            EXPECT_EQ(outcomes[i].steps_together, 10 * (1 + static_cast<int>(i) / 16 % 4));
        }
        // The same points one by one, with fixed parameters.
        for (const std::int64_t i : {5, 70, 127}) {
            Problem fixed = published_map(4);
            fixed.separation = never;
            fixed.want_state = true;
            set_time(fixed, i < 64 ? 0.001 : 0.002, 10 * (1 + static_cast<int>(i) / 16 % 4));
            expect_equal(processor.run(fixed, {i % 16}).front(), outcomes[static_cast<std::size_t>(i)]);
        }
    }
}

TEST(Lanes, ComputeInSinglePrecision) {
    Problem problem = published_map();
    problem.single_precision = true;
    for (const Processor& processor : cpu_processors()) {
        SCOPED_TRACE(processor.name);
        // Published with single precision as well: 2^-24 of rounding a step changes a divergence time, but
        // not by orders of magnitude, and points in quiet parts of the map stay undecided.
        const auto outcomes = processor.run(problem, {250 * 1000 + 500, 83 * 1000 + 10});
        EXPECT_NEAR(outcomes[0].steps_together, 23022, 2300);
        EXPECT_EQ(outcomes[1].steps_together, 50000);
    }
}

}  // namespace
}  // namespace voltpile::threebody
