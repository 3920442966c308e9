// Tests the job files of jobs/.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "job/job_spec.h"
#include "threebody/keys.h"

namespace voltpile {
namespace {

const std::filesystem::path jobs = std::filesystem::path(VOLTPILE_SOURCE_DIR) / "jobs";

JobSpec load(const std::string& name) {
    const std::vector<AppSchema> apps{threebody_schema()};
    return load_job((jobs / name).string(), {}, apps);
}

TEST(JobFiles, AreValid) {
    const std::vector<AppSchema> apps{threebody_schema()};
    int accepted = 0;
    for (const char* const folder : {"threebody", "smoke"})
        for (const auto& entry : std::filesystem::directory_iterator(jobs / folder)) {
            const auto name = entry.path().filename().string();
            if (std::string(folder) == "smoke" && !name.starts_with("threebody_"))
                continue;  // of another app
            EXPECT_NO_THROW(load_job(entry.path().string(), {}, apps)) << name;
            ++accepted;
        }
    EXPECT_GE(accepted, 12);
}

TEST(JobFiles, MatchTheExampleInTheHelp) {
    const std::vector<AppSchema> apps{threebody_schema()};
    EXPECT_EQ(parse_job(apps[0].example, "example", {}, apps).fingerprint(),
              load("threebody/seed_map.toml").fingerprint());
}

// The published map's numbers.
TEST(JobFiles, DescribeThePublishedMap) {
    const auto job = load("threebody/seed_map.toml");
    EXPECT_EQ(job.real("system.G"), 9.8);
    EXPECT_EQ(job.reals("system.mass"), (Reals{10, 20, 30}));
    EXPECT_EQ(job.reals("system.position"), (Reals{0, 0, -11, 0, 0, 0, 10, 10, 12}));
    EXPECT_EQ(job.reals("system.velocity"), (Reals{-3, 0, 0, 0, 0, 0, 3, 0, 0}));
    EXPECT_EQ(job.reals("system.twin_shift"), (Reals{0.001, 0.001, 0.001}));
    EXPECT_EQ(job.text("integrate.method"), "euler");
    EXPECT_EQ(job.text("integrate.precision"), "fp64");
    EXPECT_EQ(job.real("integrate.dt"), 0.001);
    EXPECT_EQ(job.integer("integrate.steps"), 50000);
    EXPECT_EQ(job.real("stop.separation"), 0.5);
    EXPECT_EQ(job.texts("output.fields"), Texts{"steps_together"});
    ASSERT_EQ(job.axes().size(), 2u);
    for (const int i : {0, 1}) {
        const auto& axis = job.axes()[static_cast<std::size_t>(i)];
        EXPECT_EQ(axis.key, "system.position");
        EXPECT_EQ(axis.element, i);
        EXPECT_EQ(axis.count, 1000);
        for (const int point : {0, 1, 250, 333, 999}) EXPECT_EQ(axis.value(point), -20 + 40.0 * point / 1000);
    }
}

TEST(JobFiles, CenterTheFigureEightInItsMap) {
    const auto job = load("threebody/figure_eight.toml");
    const auto& velocity = job.reals("system.velocity");
    ASSERT_EQ(job.axes().size(), 2u);
    // The middle of the axis is rounded twice more than the number itself.
    const double rounding = 4e-16;
    EXPECT_NEAR(job.axes()[0].value(100), velocity[6], rounding);
    EXPECT_NEAR(job.axes()[1].value(100), velocity[7], rounding);

    // Its published energy, to the 14 digits of the published start.
    const auto& x = job.reals("system.position");
    double energy = 0;
    for (const double v : velocity) energy += v * v / 2;
    for (const auto& [a, b] : {std::pair{0, 3}, std::pair{0, 6}, std::pair{3, 6}})
        energy -= 1 / std::hypot(x[a] - x[b], x[a + 1] - x[b + 1], x[a + 2] - x[b + 2]);
    EXPECT_NEAR(energy, -1.287141995631852, 1e-13);
    EXPECT_NEAR(job.real("integrate.dt") * 2000, 6.32591398292621, 1e-14);
}

}  // namespace
}  // namespace voltpile
