#include "machine/power_meter.h"

#include <gtest/gtest.h>

using namespace voltpile;

namespace {

// power_w is the mean of a second, power_instant_w that of a moment; negative: the driver does not say.
NodeSample sample(double time_s, std::vector<double> watts, double instant_w = -1) {
    NodeSample sample;
    sample.time_s = time_s;
    for (const double each : watts) {
        GpuSnapshot& gpu = sample.gpus.gpus.emplace_back();
        gpu.power_w = each;
        if (instant_w >= 0) gpu.power_instant_w = instant_w;
    }
    return sample;
}

}  // namespace

TEST(PowerMeter, AveragesReadingsOfTheMomentOverThreeTenthsOfASecond) {
    PowerMeter meter;
    EXPECT_FALSE(meter.read(sample(100, {1, 1}, 500)));
    std::optional<PowerReading> reading;
    for (int i = 1; i <= 10; ++i) reading = meter.read(sample(100 + 0.1 * i, {1, 1}, 100.0 * i));
    ASSERT_TRUE(reading);
    EXPECT_NEAR(reading->watts, 2 * 900, 1e-6);  // 800, 900 and 1000 W each
    EXPECT_EQ(reading->window_s, 0.3);
}

TEST(PowerMeter, AveragesOtherReadingsOverASecond) {
    PowerMeter meter;
    std::optional<PowerReading> reading;
    for (int i = 0; i <= 20; ++i) reading = meter.read(sample(0.1 * i, {100.0 + i, 200}));
    ASSERT_TRUE(reading);
    EXPECT_NEAR(reading->watts, 315.5, 1e-6);  // the mean of 311 to 320
    EXPECT_EQ(reading->window_s, 1);
}

TEST(PowerMeter, SaysNothingIfAGpuDoesNot) {
    PowerMeter meter;
    for (int i = 0; i <= 10; ++i) {
        NodeSample now = sample(0.1 * i, {250, 250});
        now.gpus.gpus[1].power_w.reset();
        EXPECT_FALSE(meter.read(now));
    }
}
