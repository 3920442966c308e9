#include "plot/ticks.h"

#include <gtest/gtest.h>

namespace voltpile {
namespace {

using Labels = std::vector<std::string>;

Labels labels(const std::vector<Tick>& ticks) {
    Labels out;
    for (const Tick& tick : ticks) out.push_back(tick.label);
    return out;
}

TEST(LinearTicks, AreRoundNumbers) {
    EXPECT_EQ(labels(linear_ticks(-20, 20, 10)),
              (Labels{"-20", "-15", "-10", "-5", "0", "5", "10", "15", "20"}));
    EXPECT_EQ(labels(linear_ticks(20, -20, 5)), (Labels{"-20", "-10", "0", "10", "20"}));  // in either order
    EXPECT_EQ(labels(linear_ticks(0, 1, 6)), (Labels{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
    EXPECT_EQ(labels(linear_ticks(0.013, 0.048, 4)), (Labels{"0.02", "0.03", "0.04"}));
    EXPECT_EQ(labels(linear_ticks(0, 50'000, 6)), (Labels{"0", "10000", "20000", "30000", "40000", "50000"}));
}

TEST(LinearTicks, HaveTheValuesOfTheirLabels) {
    for (const Tick& tick : linear_ticks(-0.7, 0.7, 10)) EXPECT_DOUBLE_EQ(tick.value, std::stod(tick.label));
    for (const Tick& tick : linear_ticks(3e-9, 9e-9, 10)) EXPECT_DOUBLE_EQ(tick.value, std::stod(tick.label));
}

TEST(LinearTicks, UseExponentsForLargeAndSmallNumbers) {
    EXPECT_EQ(labels(linear_ticks(0, 2e6, 4)), (Labels{"0", "1e6", "2e6"}));
    EXPECT_EQ(labels(linear_ticks(1.0e7, 1.2e7, 5)),
              (Labels{"1.00e7", "1.05e7", "1.10e7", "1.15e7", "1.20e7"}));
    EXPECT_EQ(labels(linear_ticks(-2e-7, 2e-7, 5)), (Labels{"-2e-7", "-1e-7", "0", "1e-7", "2e-7"}));
}

// Digits enough to tell them apart, however far from zero.
TEST(LinearTicks, StayDistinctInANarrowRange) {
    EXPECT_EQ(labels(linear_ticks(1000.001, 1000.003, 3)), (Labels{"1000.001", "1000.002", "1000.003"}));
    EXPECT_EQ(labels(linear_ticks(1 + 1e-7, 1 + 3e-7, 3)),
              (Labels{"1.0000001e0", "1.0000002e0", "1.0000003e0"}));
}

TEST(LinearTicks, RespectTheLeastStep) {
    EXPECT_EQ(labels(linear_ticks(0, 3, 10, 1)), (Labels{"0", "1", "2", "3"}));
    EXPECT_EQ(labels(linear_ticks(0, 3, 10, 1.5)), (Labels{"0", "2"}));
}

TEST(LinearTicks, AreEmptyWithoutARange) {
    EXPECT_TRUE(linear_ticks(7, 7, 10).empty());
    EXPECT_TRUE(linear_ticks(-1.7e308, 1.7e308, 10).empty());  // the difference is no double
    EXPECT_TRUE(linear_ticks(0, 1, 0).empty());
    EXPECT_LE(linear_ticks(1e15, 1e15 + 1, 10).size(), 1u);
}

TEST(DecadeTicks, ArePowersOfTen) {
    EXPECT_EQ(labels(decade_ticks(0.004, 2000, 10)), (Labels{"0.01", "0.1", "1", "10", "100", "1000"}));
    EXPECT_EQ(labels(decade_ticks(1e-8, 1e-5, 10)), (Labels{"1e-8", "1e-7", "1e-6", "1e-5"}));
    EXPECT_EQ(decade_ticks(1e-8, 1, 10).front().value, 1e-8);
}

TEST(DecadeTicks, ThinOutOverManyDecades) {
    EXPECT_EQ(labels(decade_ticks(1e-20, 1, 6)), (Labels{"1e-20", "1e-16", "1e-12", "1e-8", "1e-4", "1"}));
    EXPECT_TRUE(decade_ticks(2, 9, 5).empty());
    EXPECT_EQ(labels(decade_ticks(4e-320, 1e308, 2)).back(), "1e308");
}

}  // namespace
}  // namespace voltpile
