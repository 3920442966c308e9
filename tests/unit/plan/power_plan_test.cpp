#include "plan/power_plan.h"

#include <gtest/gtest.h>

#include <limits>

using namespace voltpile;

namespace {

// Four V100s of 300 W, and 400 W for the rest of the node.
Plan plan_of(int hosts, double watts) {
    Plan plan;
    for (int i = 0; i < hosts; ++i) {
        Host host;
        host.name = "t180-" + std::to_string(i + 1);
        host.watts = watts;
        Gpu gpu;
        gpu.watts = 300;
        host.gpus.assign(4, gpu);
        plan.topology.hosts.push_back(host);
    }
    return plan;
}

PowerRequest supply(double watts) {
    PowerRequest power;
    power.supply_w = watts;
    return power;
}

}  // namespace

TEST(PowerPlan, WarnsOnceOfEqualHostsThatDrawMoreThanTheirSupply) {
    Plan plan = plan_of(3, 1600);
    add_power(plan, supply(1400));
    EXPECT_EQ(plan.warnings,
              std::vector<std::string>{
                  "t180-1 can draw 1600 W, more than power.supply_w = 1400: its GPUs rest while they would"});
    EXPECT_EQ(plan.notes, std::vector<std::string>{"power: the GPUs of a node within 1400 W"});
}

TEST(PowerPlan, LimitsOfTheGpusLowerThePeak) {
    Plan plan = plan_of(1, 1600);
    PowerRequest power = supply(1400);
    power.limit_w = 250;  // 4 x 50 W less
    power.other_w = 400;
    power.ramp_ms = 250;
    power.sm_clock_mhz = 1005;
    add_power(plan, power);
    EXPECT_TRUE(plan.warnings.empty());
    EXPECT_EQ(plan.notes, std::vector<std::string>{
                              "power: the GPUs of a node within 1000 W (1400 W less 400 W), begun 250 ms "
                              "apart, power limit 250 W each, clock at most 1005 MHz"});
}

TEST(PowerPlan, AddsUpGpusOfHostsWithoutAFigure) {
    Plan plan = plan_of(1, 0);
    PowerRequest power = supply(1400);
    power.other_w = 400;  // 4 x 300 W more
    add_power(plan, power);
    ASSERT_EQ(plan.warnings.size(), 1u);
    EXPECT_EQ(plan.warnings[0].substr(0, 22), "t180-1 can draw 1600 W");
}

TEST(PowerPlan, SaysNothingWithoutPowerKeys) {
    Plan plan = plan_of(1, 1600);
    add_power(plan, supply(std::numeric_limits<double>::infinity()));
    EXPECT_TRUE(plan.notes.empty());
    EXPECT_TRUE(plan.warnings.empty());
}
