#include "machine/power_meter.h"

#include <gtest/gtest.h>

using namespace voltpile;

namespace {

NodeSample sample(double time_s, std::vector<double> watts, std::vector<double> joules = {}) {
    NodeSample sample;
    sample.time_s = time_s;
    for (std::size_t i = 0; i < watts.size(); ++i) {
        GpuSnapshot& gpu = sample.gpus.gpus.emplace_back();
        gpu.power_w = watts[i];
        if (i < joules.size()) gpu.energy_j = joules[i];
    }
    return sample;
}

}  // namespace

TEST(PowerMeter, PrefersTheEnergyCounters) {
    PowerMeter meter;
    EXPECT_FALSE(meter.read(sample(100, {1, 1}, {1000, 5000})));
    std::optional<PowerReading> reading;
    for (int i = 1; i <= 10; ++i)  // 200 W and 300 W
        reading = meter.read(sample(100 + 0.1 * i, {1, 1}, {1000 + 20.0 * i, 5000 + 30.0 * i}));
    ASSERT_TRUE(reading);
    EXPECT_NEAR(reading->watts, 500, 1e-6);
    EXPECT_NEAR(reading->window_s, 0.3, 1e-6);
}

TEST(PowerMeter, AveragesThePowerWithoutCounters) {
    PowerMeter meter;
    std::optional<PowerReading> reading;
    for (int i = 0; i <= 10; ++i) reading = meter.read(sample(0.1 * i, {100.0 + i, 200}));
    ASSERT_TRUE(reading);
    EXPECT_NEAR(reading->watts, 305, 1e-6);  // the mean of 300 to 310
    EXPECT_EQ(reading->window_s, 1);
}

TEST(PowerMeter, DoesNotBelieveCountersThatStandStill) {
    PowerMeter meter;
    std::optional<PowerReading> reading;
    for (int i = 0; i <= 10; ++i) reading = meter.read(sample(0.1 * i, {250}, {1000}));
    ASSERT_TRUE(reading);
    EXPECT_EQ(reading->watts, 250);
}

TEST(PowerMeter, SaysNothingIfAGpuDoesNot) {
    PowerMeter meter;
    for (int i = 0; i <= 10; ++i) {
        NodeSample now = sample(0.1 * i, {250, 250});
        now.gpus.gpus[1].power_w.reset();
        EXPECT_FALSE(meter.read(now));
    }
}
