// How points end, what is swept, and which jobs are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "nbody/run_job.h"

namespace voltpile::nbody::testing {
namespace {

const std::string kFreePair = system_of({{1, {-3, 0, 0}, {1, 0, 0}}, {1, {3, 0.5, 0}, {-1, 0, 0}}}, 0);

TEST(NbodyEndings, CollisionEndsTheStepInWhichBodiesMeet) {
    // Straight lines: the distance is below 1 from t = 3 - sqrt(0.75) / 2 on.
    const double meet = 3 - std::sqrt(0.75) / 2;
    const std::string stop = "[stop]\ncollision = 1\n";
    const Outcome fixed = run(kFreePair + stop + fixed_steps("leapfrog", 10, 1000) + every_field()).at(0);
    EXPECT_EQ(fixed.status, status(Status::Collision));
    EXPECT_NEAR(fixed.final_time, std::ceil(meet * 100) / 100, 1e-12);
    EXPECT_LE(fixed.closest_approach, 1);
    EXPECT_EQ(fixed.closest_pair, 0);
    const Outcome adapted = run(kFreePair + stop + adaptive("rkn8", 10, 1e-9) + every_field()).at(0);
    EXPECT_EQ(adapted.status, status(Status::Collision));
    EXPECT_NEAR(adapted.closest_approach, 0.5, 1e-12);  // the step is a long one
    EXPECT_NEAR(adapted.closest_time, 3, 1e-12);
    const Outcome missed =
        run(kFreePair + "[stop]\ncollision = 0.49\n" + adaptive("rkn8", 10, 1e-9) + every_field()).at(0);
    EXPECT_EQ(missed.status, status(Status::End));
    const Outcome at_once = run(kFreePair + "[stop]\ncollision = 7\n" + adaptive("rkn8", 10, 1e-9)).at(0);
    EXPECT_EQ(at_once.status, status(Status::Collision));
    EXPECT_EQ(at_once.final_time, 0);
}

TEST(NbodyEndings, OnlyUnboundBodiesEscape) {
    // A light body leaves a heavy pair at distance 5: the escape velocity is about sqrt(2 / 5) = 0.63.
    const auto job = [](double speed, const std::string& integrate) {
        return system_of({{0.5, {-0.25, 0, 0}, {0, -0.5 * std::sqrt(2.0), 0}},
                          {0.5, {0.25, 0, 0}, {0, 0.5 * std::sqrt(2.0), 0}},
                          {1e-6, {5, 0, 0}, {speed, 0, 0}}}) +
               "[stop]\nescape_distance = 20\n" + integrate + every_field(true);
    };
    for (const std::string& integrate : {adaptive("rkn8", 100, 1e-10), fixed_steps("yoshida4", 100, 20000)}) {
        const Outcome free = run(job(0.7, integrate)).at(0);
        EXPECT_EQ(free.status, status(Status::Escape)) << integrate;
        EXPECT_EQ(free.escaper, 3);
        EXPECT_LT(free.final_time, 15 / std::sqrt(0.49 - 0.4));  // at the least of its speeds
        EXPECT_GT(position_of(free, 2)[0], 19.9);
        // Far out at first, but bound.
        const Outcome bound = run(job(0.62, integrate)).at(0);
        EXPECT_EQ(bound.status, status(Status::End)) << integrate;
        EXPECT_EQ(bound.escaper, 0);
        EXPECT_GT(position_of(bound, 2)[0], 20);
    }
}

TEST(NbodyEndings, FlagsBodiesThatFallIntoEachOther) {
    // Two bodies at rest at distance 2 meet after pi/2 sqrt(d^3 / (2 G M)).
    const std::string fall = system_of({{1, {-1, 0, 0}, {}}, {1, {1, 0, 0}, {}}});
    const double meet = 0.5 * std::numbers::pi * std::sqrt(8.0 / 4.0);
    for (const char* const method : {"rkn8", "gbs10"}) {
        const Outcome outcome = run(fall + adaptive(method, 10, 1e-10) + every_field()).at(0);
        EXPECT_TRUE(outcome.status == status(Status::StepTooSmall) ||
                    outcome.status == status(Status::MaxSteps));
        EXPECT_NEAR(outcome.final_time, meet, 1e-6);
        for (int c = 0; c < 12; ++c) EXPECT_TRUE(std::isfinite(outcome.final_state[c]));
    }
    const Outcome spent = run(fall + adaptive("rkn8", 10, 1e-10) + "max_steps = 7\n").at(0);
    EXPECT_EQ(spent.status, status(Status::MaxSteps));
    EXPECT_EQ(spent.step_count, 7);
}

TEST(NbodyEndings, FlagsNumbersThatAreNotFinite) {
    // At the point x = 0 of the sweep both bodies start at the same place.
    const std::string job = system_of({{1, {0, 0, 0}, {}}, {1, {0, 0, 0}, {}}}) +
                            "[[sweep]]\nparameter = \"position[1].x\"\nfrom = 0\nto = 2\ncount = 2\n";
    for (const std::string& integrate : {adaptive("gbs10", 0.1, 1e-9), fixed_steps("rk4", 0.1, 10)}) {
        for (const CpuLevel level : usable_cpu_levels()) {
            const std::vector<Outcome> at = run(job + integrate + every_field(), {}, level);
            EXPECT_EQ(at[0].status, status(Status::NotFinite));
            EXPECT_EQ(at[0].final_time, 0);
            EXPECT_EQ(at[0].closest_approach, 0);
            for (int c = 0; c < 12; ++c) EXPECT_EQ(at[0].final_state[c], 0);
            EXPECT_EQ(at[1].status, status(Status::End));
        }
    }
    // Velocities double their digits in each step until they overflow.
    const Outcome blown = run(system_of({{1, {1e100, 0, 0}, {1e300, 0, 0}}, {1, {0, 0, 0}, {}}}) +
                              fixed_steps("leapfrog", 1e11, 1000))
                              .at(0);
    EXPECT_EQ(blown.status, status(Status::NotFinite));
    for (int c = 0; c < 12; ++c) EXPECT_TRUE(std::isfinite(blown.final_state[c])) << c;
}

const std::string kFour = system_of({{1, {1, 0, 0}, {0, 0.5, 0}},
                                     {0.8, {-1, 0.1, 0}, {0.1, -0.5, 0}},
                                     {0.1, {0, 2, 0.3}, {-0.6, 0, 0.1}},
                                     {0, {0, -3, 0.3}, {0.6, 0, 0.1}}}) +
                          "softening = 0.01\n";
const std::string kSweep =
    "[[sweep]]\nparameter = \"position[3].z\"\nfrom = -1\nto = 1\ncount = 13\n"
    "[[sweep]]\nparameter = \"mass[2]\"\nfrom = 0\nto = 1\ncount = 7\nendpoint = true\n";

TEST(NbodyEndings, LanesAndNeighborsDoNotChangeAPoint) {
    for (const std::string& integrate : {adaptive("rkn8", 20, 1e-9), adaptive("gbs10", 20, 1e-9),
                                         fixed_steps("leapfrog", 20, 777), fixed_steps("rk4", 20, 333)}) {
        const std::string job = kFour + integrate + every_field(true) + "[stop]\nescape_distance = 8\n";
        std::vector<Outcome> fused;
        for (const CpuLevel level : usable_cpu_levels()) {
            const std::vector<Outcome> at = run(job + kSweep, {}, level);
            ASSERT_EQ(at.size(), 91U);
            const Outcome alone = run(job,
                                      {fmt::format("system.position[3].z={:.17g}", -1 + 2.0 * 5 / 13),
                                       fmt::format("system.mass[2]={:.17g}", 4 / 6.0)},
                                      level)
                                      .at(0);
            EXPECT_EQ(std::memcmp(&alone, &at[4 * 13 + 5], sizeof alone), 0) << name(level) << integrate;
            if (level == CpuLevel::Baseline) continue;
            if (!fused.empty()) {
                EXPECT_EQ(std::memcmp(at.data(), fused.data(), at.size() * sizeof(Outcome)), 0) << integrate;
            }
            fused = at;
        }
    }
}

TEST(NbodyEndings, RefusesJobsThatMakeNoSense) {
    const std::string job = kFour + fixed_steps("leapfrog", 1, 10);
    EXPECT_EQ(complaint_of(job), "accepted");
    const auto expect = [&](const std::vector<std::string>& overrides, const std::string& says) {
        EXPECT_NE(complaint_of(job, overrides).find(says), std::string::npos)
            << complaint_of(job, overrides) << "\nexpected: " << says;
    };
    expect({"system.mass=[1]"}, "system.mass has 1 masses: 2 to 8 bodies are possible");
    expect({"system.mass=[1, 2, 3, 4, 5, 6, 7, 8, 9]"}, "system.mass has 9 masses");
    expect({"system.mass=[1, 2, 3]"}, "system.position has 4 vectors, but system.mass has 3 masses");
    expect({"system.mass=[1, 2, 3, -4]"}, "system.mass[3] = -4: must be at least 0");
    expect({"system.position[3]=[1, 2]"}, "expected");
    expect({"system.softening=0", "system.position[1]=[1.0, 0.0, 0.0]"},
           "bodies 1 and 2 start at the same point");
    expect({"potential.kind=plummer"}, "potential \"plummer\" needs potential.central_mass");
    expect({"potential.central_mass=1"}, "potential \"none\" does not use potential.central_mass");
    expect({"potential.kind=harmonic", "potential.frequency=1", "stop.escape_distance=3"},
           "nothing escapes from the potential \"harmonic\"");
    expect({"output.fields=[\"escaper\"]"}, "the field escaper needs stop.escape_distance");
    expect({"integrate.tolerance=1e-3"}, "has fixed steps: leave out integrate.tolerance");
    expect({"check.points=5", "output.fields=[\"status\"]"}, "nothing to check");
    EXPECT_NE(complaint_of(job + kSweep, {"table.file=a.csv"}).find("leave out [[sweep]] or [table]"),
              std::string::npos);
    EXPECT_NE(complaint_of(job + "[[sweep]]\nparameter = \"position[4].x\"\nfrom = 0\nto = 1\ncount = 2\n")
                  .find("index 4 is out of range 0 to 3"),
              std::string::npos);
    EXPECT_NE(complaint_of(job + "[[sweep]]\nparameter = \"mass[0]\"\nfrom = -1\nto = 1\ncount = 2\n")
                  .find("must be at least 0"),
              std::string::npos);
}

}  // namespace
}  // namespace voltpile::nbody::testing
