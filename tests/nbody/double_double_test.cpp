// Double-double against closed forms, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "nbody/run_job.h"

namespace voltpile::nbody::testing {
namespace {

const std::string kDoubleDouble = "precision = \"double-double\"\n";

// Two bodies on a circle: everything but the time's cosine is exact. Omega = 1.
const std::string kCircle = system_of(
    {{.mass = 0.5, .x = {0.5, 0, 0}, .v = {0, 0.5, 0}}, {.mass = 0.5, .x = {-0.5, 0, 0}, .v = {0, -0.5, 0}}});
const std::string kState = "[output]\nfields = [\"final_state\", \"status\", \"step_count\"]\n";

double error_on_circle(const Outcome& outcome, long double t) {
    const double* const x = position_of(outcome, 0);
    return static_cast<double>(std::hypot(static_cast<long double>(x[0]) - std::cos(t) / 2,
                                          static_cast<long double>(x[1]) - std::sin(t) / 2));
}

TEST(NbodyDoubleDouble, FollowsACircleToTheLastBit) {
    for (const CpuLevel level : usable_cpu_levels()) {
        const Outcome outcome =
            run(kCircle + "[integrate]\nmethod = \"rkn8\"\ndt = 0.125\nsteps = 800\ntolerance = 1e-22\n" +
                    kDoubleDouble + kState,
                {}, level)
                .at(0);
        EXPECT_EQ(outcome.status, status(Status::End));
        EXPECT_EQ(outcome.final_time, 100);
        EXPECT_LE(error_on_circle(outcome, 100), 0x1p-53) << name(level);  // both coordinates rounded to FP64
    }
}

// The error of leapfrog on the circle is of order 2 down to where FP64 would round: x' - x = t h^2 / 24 along
// the orbit of radius 1/2, and the error of half the steps is a quarter.
TEST(NbodyDoubleDouble, LeapfrogKeepsItsOrder) {
    double errors[2];
    for (const int k : {0, 1})
        errors[k] =
            error_on_circle(run(kCircle + fixed_steps("leapfrog", 1, 4096 << k) + kDoubleDouble + kState, {},
                                usable_cpu_levels().front())
                                .at(0),
                            1);
    EXPECT_NEAR(errors[0] / errors[1], 4, 1e-3);
}

// Two bodies at the same place in FP64, apart by displacements that FP64 would round away.
TEST(NbodyDoubleDouble, KeepsDisplacements) {
    const std::string job =
        "[system]\nG = 0.0\nmass = [1.0, 1.0]\nposition = [[5.0, 0.0, 0.0], [5.0, 0.0, 0.0]]\n"
        "velocity = [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]\n"
        "displacement = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]\n"
        "[[sweep]]\nparameter = \"displacement[1].x\"\nfrom = 1e-20\nto = 5e-20\ncount = 4\n"
        "[output]\nfields = [\"closest_approach\"]\n" +
        fixed_steps("leapfrog", 1, 8) + kDoubleDouble;
    const std::vector<Outcome> outcomes = run(job, {}, usable_cpu_levels().front());
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        EXPECT_NEAR(outcomes[i].closest_approach, 1e-20 * static_cast<double>(i + 1),
                    1e-31);  // 106 bits of 5
}

TEST(NbodyDoubleDouble, AllLevelsGiveTheSameBits) {
    const std::string system =
        system_of({{1, {1, 0, 0}, {0, 0.5, 0.1}},
                   {0.5, {-1, 0.3, 0}, {0, -0.6, 0}},
                   {0.25, {0.2, 2, -0.5}, {0.4, 0, 0}},
                   {0, {3, -1, 0.5}, {0, 0.3, 0.2}}}) +
        "softening = 0.1\n[potential]\nkind = \"logarithmic\"\nspeed = 0.3\nscale = 0.7\n"
        "[[sweep]]\nparameter = \"velocity[2].x\"\nfrom = 0\nto = 1\ncount = 5\n" +
        kState;
    for (const std::string& how :
         {adaptive("rkn8", 2, 1e-18), fixed_steps("leapfrog", 2, 100), fixed_steps("euler", 2, 100)}) {
        const std::vector<Outcome> expected = run(system + how + kDoubleDouble);
        EXPECT_EQ(expected[0].status, status(Status::End));
        for (const CpuLevel level : usable_cpu_levels()) {
            const std::vector<Outcome> got = run(system + how + kDoubleDouble, {}, level);
            for (std::size_t i = 0; i < got.size(); ++i)
                EXPECT_EQ(std::memcmp(got[i].final_state, expected[i].final_state, sizeof got[i].final_state),
                          0)
                    << how << name(level) << i;
        }
    }
}

TEST(NbodyDoubleDouble, RefusesWhatItLacks) {
    const std::string rkn8 = adaptive("rkn8", 1, 1e-9);
    EXPECT_NE(complaint_of(kCircle + fixed_steps("rk4", 1, 10) + kDoubleDouble)
                  .find("method \"rk4\" does not compute in double-double"),
              std::string::npos);
    EXPECT_NE(complaint_of(kCircle + rkn8 + kDoubleDouble + "[output]\nfields = [\"closest_approach\"]\n")
                  .find("method \"rkn8\" does not provide closest_approach in double-double"),
              std::string::npos);
    EXPECT_NE(complaint_of(kCircle + rkn8 + kDoubleDouble + "[stop]\ncollision = 0.1\n")
                  .find("method \"rkn8\" does not notice collisions in double-double"),
              std::string::npos);
    EXPECT_NE(complaint_of(kCircle + rkn8 + kDoubleDouble + "[stop]\nescape_distance = 10.0\n")
                  .find("method \"rkn8\" does not notice escapes in double-double"),
              std::string::npos);
    EXPECT_NE(
        complaint_of(kCircle + adaptive("rkn8", 1, 1e-18)).find("is below 1e-14, what FP64 can deliver"),
        std::string::npos);
    EXPECT_NE(complaint_of(kCircle + "displacement = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]\n" + rkn8)
                  .find("displacements need integrate.precision = \"double-double\""),
              std::string::npos);
    EXPECT_NE(complaint_of(kCircle + "displacement = [[0.0, 0.0, 0.0]]\n" + rkn8 + kDoubleDouble)
                  .find("system.displacement needs a vector for each body"),
              std::string::npos);
    EXPECT_EQ(complaint_of(kCircle + rkn8 + kDoubleDouble), "accepted");
}

}  // namespace
}  // namespace voltpile::nbody::testing
