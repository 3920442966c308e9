// When twins part: against methods of small fixed steps and against paths of both systems.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "nbody/run_job.h"

namespace voltpile::nbody::testing {
namespace {

// A binary and a planet around it, and a light body far out; twins of the planet part after some revolutions.
const std::string kBinary = system_of({{0.6, {-0.4, 0, 0}, {0, -0.55, 0}},
                                       {0.4, {0.6, 0, 0.1}, {0, 0.82, 0.05}},
                                       {0.01, {2.2, 0.3, 0}, {-0.1, 0.62, 0}},
                                       {0, {-5, 0.5, 0.3}, {0, -0.42, 0.1}}});
const std::string kShift =
    "twin_shift = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.02, -0.01, 0.0], [0.0, 0.0, 0.0]]\n";
const std::string kStarts = "[[sweep]]\nparameter = \"position[2].x\"\nfrom = 1.8\nto = 2.6\ncount = 60\n";
const std::string kParting =
    "[output]\nfields = [\"status\", \"steps_together\", \"time_together\", \"final_state\"]\n";
const std::string kStop = "[stop]\nseparation = 0.3\n";

TEST(NbodyTwin, AdaptiveMethodsFindTheTimeOfParting) {
    const std::string job = kBinary + kShift + kStarts + kStop + kParting;
    for (const CpuLevel level : usable_cpu_levels()) {
        const std::vector<Outcome> expected = run(job + fixed_steps("srkn6", 15, 15000), {}, level);
        int parted = 0;
        for (const char* const method : {"rkn8", "gbs10"}) {
            const std::vector<Outcome> at = run(job + adaptive(method, 15, 1e-11), {}, level);
            for (std::size_t i = 0; i < at.size(); ++i) {
                EXPECT_EQ(at[i].status, expected[i].status) << method << name(level) << i;
                // Fixed steps look at the end of each step.
                EXPECT_LE(at[i].time_together, expected[i].time_together + 1e-6) << method << i;
                EXPECT_GE(at[i].time_together, expected[i].time_together - 1.01e-3) << method << i;
                EXPECT_NEAR(at[i].final_time, at[i].time_together, 15 * 1e-11);
                parted += at[i].status == status(Status::Parted) ? 1 : 0;
            }
        }
        EXPECT_GT(parted, 40);   // else this tests nothing
        EXPECT_LT(parted, 120);  // of both methods
    }
}

TEST(NbodyTwin, IsAsFarAwayAsTheLimitWhenItParts) {
    const Outcome pair = run(kBinary + kShift + kStop + kParting + adaptive("rkn8", 100, 1e-11)).at(0);
    ASSERT_EQ(pair.status, status(Status::Parted));
    const std::string until = fmt::format(
        "[integrate]\nmethod = \"rkn8\"\ndt = {:.17g}\nsteps = 1\n"
        "tolerance = 1e-12\n[output]\nfields = [\"final_state\"]\n",
        pair.time_together);
    const Outcome first = run(kBinary + until).at(0);
    const Outcome twin =
        run(kBinary + until, {"system.position[2].x=2.22", "system.position[2].y=0.29"}).at(0);
    double largest = 0;
    for (int i = 0; i < 4; ++i) {
        double squared = 0;
        for (int c = 0; c < 3; ++c)
            squared += std::pow(position_of(first, i)[c] - position_of(twin, i)[c], 2);
        largest = std::max(largest, std::sqrt(squared));
    }
    EXPECT_NEAR(largest, 0.3, 1e-8);
    for (int c = 0; c < 24; ++c) EXPECT_NEAR(first.final_state[c], pair.final_state[c], 1e-7);
    // The first state of fixed steps dt = 1 at which they have parted.
    EXPECT_EQ(pair.steps_together, static_cast<int>(std::ceil(pair.time_together)));
}

TEST(NbodyTwin, FixedStepsCountTheStatesBeforeTheyPart) {
    const std::string free = system_of({{1, {0, 0, 0}, {}}, {0, {1, 0, 0}, {0, 1, 0}}});
    const std::string shift = "twin_shift = [[0, 0, 0], [0.01, 0, 0]]\n";
    for (const char* const method : {"euler", "leapfrog", "yoshida4", "srkn6", "rk4"}) {
        const std::string job = free + shift + fixed_steps(method, 20, 2000) + kParting;
        const Outcome pair = run(job + "[stop]\nseparation = 0.2\n").at(0);
        ASSERT_EQ(pair.status, status(Status::Parted)) << method;
        EXPECT_EQ(pair.time_together, 0.01 * pair.steps_together);
        EXPECT_EQ(pair.final_time, pair.time_together);
        const auto distance_after = [&](int steps) {
            const auto end = [&](const std::string& x) {
                return run(free + fixed_steps(method, 20, 2000),
                           {fmt::format("integrate.steps={}", steps), "system.position[1].x=" + x})
                    .at(0);
            };
            const Outcome first = end("1.0"), twin = end("1.01");
            return std::hypot(position_of(first, 1)[0] - position_of(twin, 1)[0],
                              position_of(first, 1)[1] - position_of(twin, 1)[1]);
        };
        EXPECT_GT(distance_after(pair.steps_together), 0.2) << method;
        EXPECT_LE(distance_after(pair.steps_together - 1), 0.2) << method;
    }
}

TEST(NbodyTwin, MayStayOrStartTooFarAway) {
    for (const std::string& integrate : {adaptive("rkn8", 2, 1e-9), fixed_steps("leapfrog", 2, 200)}) {
        const std::string job = kBinary + kShift + kParting + integrate;
        const Outcome together = run(job + "[stop]\nseparation = 5\n").at(0);
        EXPECT_EQ(together.status, status(Status::End));
        EXPECT_EQ(together.time_together, 2);
        EXPECT_EQ(together.steps_together, integrate.find("rkn8") != std::string::npos ? 100 : 200);
        const Outcome apart = run(job + "[stop]\nseparation = 0.01\n").at(0);
        EXPECT_EQ(apart.status, status(Status::Parted));
        EXPECT_EQ(apart.time_together, 0);
        EXPECT_EQ(apart.steps_together, 0);
        // A collision ends the pair before it parts.
        const Outcome met = run(job + "[stop]\nseparation = 0.3\ncollision = 1.5\n").at(0);
        EXPECT_EQ(met.status, status(Status::Collision));
        EXPECT_EQ(met.time_together, 0);
    }
}

TEST(NbodyTwin, LanesAndNeighborsDoNotChangeAPoint) {
    for (const std::string& integrate : {adaptive("rkn8", 20, 1e-9), adaptive("gbs10", 20, 1e-9),
                                         fixed_steps("leapfrog", 20, 2000), fixed_steps("rk4", 20, 2000)}) {
        for (const CpuLevel level : usable_cpu_levels()) {
            const std::string job = kBinary + kShift + kStop + kParting + integrate;
            const std::vector<Outcome> at = run(job + kStarts, {}, level);
            for (const std::size_t i : {7U, 41U}) {
                const double x = 1.8 + (2.6 - 1.8) * static_cast<double>(i) / 60;
                const Outcome alone = run(job, {fmt::format("system.position[2].x={:.17g}", x)}, level).at(0);
                EXPECT_EQ(std::memcmp(&alone, &at[i], sizeof alone), 0) << name(level) << integrate;
            }
        }
    }
}

TEST(NbodyTwin, NeedsALimitAndAShift) {
    const auto expect = [&](const std::string& job, const std::string& says) {
        EXPECT_NE(complaint_of(job).find(says), std::string::npos)
            << complaint_of(job) << "\nexpected: " << says;
    };
    const std::string fixed = fixed_steps("leapfrog", 1, 10);
    const std::string growth = "[output]\nfields = [\"megno\"]\n";
    EXPECT_EQ(complaint_of(kBinary + kShift + fixed + kStop + kParting), "accepted");
    EXPECT_EQ(complaint_of(kBinary + kShift + fixed + growth), "accepted");
    expect(kBinary + kShift + fixed + kParting, "the field steps_together needs stop.separation");
    expect(kBinary + kShift + fixed, "system.twin_shift has no effect without stop.separation");
    expect(kBinary + fixed + kStop, "stop.separation needs system.twin_shift with a vector for each body");
    expect(kBinary + fixed + growth, "the growth of a deviation needs system.twin_shift with a vector");
    expect(kBinary + "twin_shift = [[1, 0, 0]]\n" + fixed + growth, "with a vector for each body");
    expect(kBinary + "twin_shift = [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]\n" + fixed + growth,
           "system.twin_shift is 0 in all components");
    expect(kBinary + kShift + fixed + kStop + growth, "megno follows a small deviation instead of a twin");
    const std::string precise = fixed + "precision = \"double-double\"\n";
    expect(kBinary + kShift + precise + kStop, "does not follow a twin in double-double");
    expect(kBinary + kShift + precise + growth, "does not provide megno in double-double");
}

}  // namespace
}  // namespace voltpile::nbody::testing
