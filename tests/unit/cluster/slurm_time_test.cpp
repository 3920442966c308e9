#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "cluster/slurm/submit_time.h"

using namespace voltpile;

TEST(SlurmTime, LimitCoversWorkAndSignalLead) {
    for (double estimate_s : {1.0, 100.0, 3600.0, 50'000.0, 1e6}) {
        const TimePlan plan = plan_time({estimate_s, 2, HUGE_VAL, {}});
        EXPECT_GE(plan.limit_s, 1.2 * estimate_s + plan.signal_lead_s + 60) << estimate_s;
        EXPECT_LE(plan.limit_s, 2 * estimate_s + 3600) << estimate_s;
        EXPECT_EQ(std::fmod(plan.limit_s, 60), 0);
        EXPECT_EQ(plan.lives, 1);
    }
}

TEST(SlurmTime, SignalsAMinuteAndAFewRangesEarly) {
    EXPECT_GE(plan_time({7200, 2, HUGE_VAL, {}}).signal_lead_s, 60 + 2 * 2);
    EXPECT_GE(plan_time({7200, 100, HUGE_VAL, {}}).signal_lead_s, 60 + 2 * 100);
    // The lead takes at most a quarter of a short limit.
    EXPECT_LE(plan_time({7200, 2, HUGE_VAL, 120}).signal_lead_s, 30);
    EXPECT_LE(plan_time({7200, 2, HUGE_VAL, 60}).signal_lead_s, 15);
    EXPECT_GE(plan_time({7200, 2, HUGE_VAL, 60}).signal_lead_s, 2 * 2);
}

TEST(SlurmTime, SplitsLongWorkIntoLives) {
    const TimePlan plan = plan_time({36'000, 2, 7200, {}});
    EXPECT_EQ(plan.limit_s, 7200);
    // 7200 s minus the lead of 68 s, the 30 s that Slurm may be early, and the start leave over 7000 s per
    // run.
    EXPECT_EQ(plan.lives, 6);
    EXPECT_GT(plan_time({36'000, 2, HUGE_VAL, 3600}).lives, 9);
    EXPECT_EQ(plan_time({10, 2, 7200, {}}).lives, 1);
}

TEST(SlurmTime, RejectsTooLongOrTooShortLimits) {
    EXPECT_THROW(plan_time({10, 2, 7200, 7260}), MachineError);
    EXPECT_NO_THROW(plan_time({10, 2, 7200, 7200}));
    // A range of 40 s does not fit a limit of 60 s minus the lead.
    EXPECT_THROW(plan_time({10, 40, HUGE_VAL, 60}), MachineError);
    EXPECT_THROW(plan_time({10, 100, 120, {}}), MachineError);
    EXPECT_NO_THROW(plan_time({10, 2, HUGE_VAL, 60}));
    EXPECT_NO_THROW(plan_time({10, 40, HUGE_VAL, 600}));
}

TEST(SlurmTime, KeepsUnlimited) {
    const TimePlan plan = plan_time({100, 2, HUGE_VAL, HUGE_VAL});
    EXPECT_TRUE(std::isinf(plan.limit_s));
    EXPECT_TRUE(std::isfinite(plan.signal_lead_s));
    EXPECT_EQ(plan.lives, 1);
}

TEST(SlurmTime, LeavesAServiceItsTimeToStop) {
    const auto service = [](double stop_s, std::optional<double> asked_s, double max_time_s = HUGE_VAL) {
        return plan_time({0, 0, max_time_s, asked_s, stop_s});
    };
    EXPECT_TRUE(std::isinf(service(30, {}).limit_s));  // as long as there is time
    EXPECT_EQ(service(30, {}, 86'400).limit_s, 86'400);
    EXPECT_EQ(service(30, 3600).limit_s, 3600);
    for (const double stop_s : {1.0, 45.0, 900.0}) EXPECT_GT(service(stop_s, 3600).signal_lead_s, stop_s);
    EXPECT_THROW(service(900, 900), MachineError);
    EXPECT_THROW(service(30, 7260, 7200), MachineError);
}
