// Tests the estimate of an adaptive method's steps against the steps that a run takes.
#include <gtest/gtest.h>

#include <string>

#include "job/job_spec.h"
#include "threebody/keys.h"
#include "threebody/problem_from_job.h"
#include "threebody/reference_problems.h"
#include "threebody/step_estimate.h"

namespace voltpile::threebody {

JobSpec shipped_adaptive_job(const std::string& name) {
    const std::vector<AppSchema> apps{threebody_schema()};
    return load_job(std::string(VOLTPILE_SOURCE_DIR) + "/jobs/threebody/" + name, {}, apps);
}

// Returns the mean number of steps over evenly spaced points, on the fastest CPU level.
double mean_steps(const Problem& problem, const std::vector<std::int64_t>& points) {
    double steps = 0;
    for (const Outcome& outcome : cpu_processors().front().run(problem, points)) steps += outcome.step_count;
    return steps / static_cast<double>(points.size());
}

// A run of 1,009 points, a prime number of them so that they do not form columns. Their mean has an error of
// 4 %, that of 128 pilots one of 9 %: no more than one such estimate in 20 would be off by 20 %, and this one
// is the same on every machine.
TEST(StepEstimate, IsWithinAFifthOfTheStepsOfShippedMaps) {
    for (const char* const name : {"accurate_map.toml", "lyapunov_map.toml"}) {
        const JobSpec job = shipped_adaptive_job(name);
        const Problem problem = problem_from_job(job);
        const std::int64_t points = job.point_count();
        const double steps = mean_steps(problem, consecutive(0, 1009, points / 1009));
        EXPECT_NEAR(estimated_steps(problem, points) / steps, 1, 0.2) << name;
    }
}

// Most pairs of this map need more steps than the first pilots attempt: 110 of them took 45,700 on average.
// The estimate rests on 16 pilots of very different lengths.
TEST(StepEstimate, FollowsPairsThatOutlastThePilots) {
    const JobSpec job = shipped_adaptive_job("agekyan_anosova.toml");
    const double steps = estimated_steps(problem_from_job(job), job.point_count());
    EXPECT_GT(steps, 45700 / 1.7);
    EXPECT_LT(steps, 45700 * 1.7);
}

// At a looser tolerance pairs of the same map are decided soon enough to compare with a run.
TEST(StepEstimate, AgreesWithARunWherePilotsGoFurther) {
    const JobSpec job = shipped_adaptive_job("agekyan_anosova.toml");
    Problem problem = problem_from_job(job);
    problem.tolerance = 1e-6;
    const std::int64_t points = job.point_count();
    for (const std::int32_t budget : {4000, 10000, 70000}) {
        problem.most_steps = budget;
        const double steps = mean_steps(problem, consecutive(0, 211, points / 211));
        EXPECT_NEAR(estimated_steps(problem, points) / steps, 1, 0.35) << budget;
    }
}

TEST(StepEstimate, FollowsTheTolerance) {
    Problem problem = published_map(20);
    problem.method = Method::RungeKuttaNystrom8;
    problem.most_steps = 100000;
    for (const double tolerance : {1e-6, 1e-12}) {
        problem.tolerance = tolerance;
        EXPECT_NEAR(estimated_steps(problem, 400) / mean_steps(problem, consecutive(0, 400)), 1, 0.2)
            << tolerance;
    }
}

// Pilots in double-double have a larger tolerance than the job.
TEST(StepEstimate, FollowsTheToleranceInDoubleDouble) {
    Problem problem = published_map(20);
    set_time(problem, 0.001, 5000);
    problem.method = Method::RungeKuttaNystrom8;
    problem.double_double = true;
    problem.most_steps = 100000;
    for (const double tolerance : {1e-9, 1e-14, 1e-18}) {
        problem.tolerance = tolerance;
        EXPECT_NEAR(estimated_steps(problem, 400) / mean_steps(problem, consecutive(0, 40, 10)), 1, 0.3)
            << tolerance;
    }
}

// The published map takes 4.44e10 of its 5e10 steps (docs/benchmarks.md).
TEST(StepEstimate, CountsPairsThatPartBeforeTheirLastStep) {
    const JobSpec job = shipped_adaptive_job("seed_map.toml");
    EXPECT_NEAR(estimated_fixed_steps(problem_from_job(job), job.point_count()), 44400, 0.1 * 44400);
    Problem longer = problem_from_job(job);
    longer.largest_steps = 1'000'000;
    EXPECT_EQ(estimated_fixed_steps(longer, job.point_count()), 1e6);
}

// The published movie with a tenth of its steps, ten times as long: 1,000 frames of 16 x 16 pairs. 128 pilots
// that need 0.75 of their steps with a deviation of 0.3 have an error of 4 %.
TEST(StepEstimate, OfAMovieAgreesWithTenOfItsFrames) {
    const std::vector<AppSchema> apps{threebody_schema()};
    const std::vector<std::string> smaller{"sweep.x.count=16", "sweep.y.count=16", "integrate.dt=0.01",
                                           "integrate.steps=5000", "frames.change[1].to=[105000]"};
    const JobSpec job =
        load_job(std::string(VOLTPILE_SOURCE_DIR) + "/jobs/threebody/movie.toml", smaller, apps);
    Problem problem = problem_from_job(job);
    const std::vector<double> frames = set_frames(job, problem);
    double steps = 0;
    for (std::int64_t frame = 50; frame < 1000; frame += 100)
        steps += mean_steps(problem, consecutive(256 * frame, 256)) / 10;
    EXPECT_NEAR(estimated_fixed_steps(problem, job.point_count()) / steps, 1, 0.15);
}

TEST(StepEstimate, IsExactForFewPoints) {
    Problem problem = published_map(3);
    problem.method = Method::RungeKuttaNystrom8;
    problem.tolerance = 1e-9;
    problem.most_steps = 100000;
    double steps = 0;
    for (const Processor& processor : cpu_processors()) {
        if (processor.level != CpuLevel::Baseline) continue;
        for (const Outcome& outcome : processor.run(problem, consecutive(0, 9))) steps += outcome.step_count;
    }
    EXPECT_EQ(estimated_steps(problem, 9), steps / 9);
}

TEST(StepEstimate, RespectsTheBudget) {
    Problem problem = published_map(20);
    problem.method = Method::RungeKuttaNystrom8;
    problem.tolerance = 1e-9;
    problem.most_steps = 7;
    EXPECT_EQ(estimated_steps(problem, 400), 7);
}

// A pair whose numbers are not numbers ends the pilot as it ends the run.
TEST(StepEstimate, EndsWhereNumbersAreNotFinite) {
    Problem problem = published_map(20);
    problem.method = Method::RungeKuttaNystrom8;
    problem.tolerance = 1e-9;
    problem.most_steps = 100000;
    problem.sources.position[0][2].base = NAN;
    EXPECT_GE(estimated_steps(problem, 400), 1);
}

}  // namespace voltpile::threebody
