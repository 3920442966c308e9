#include "sweep/select.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace voltpile;

TEST(Select, TreatsNanAsFalse) {
    EXPECT_EQ(select_below(1, 2, 3, 4), 3);
    EXPECT_EQ(select_below(2, 2, 3, 4), 4);
    EXPECT_EQ(select_below(NAN, 2, 3, 4), 4);
    EXPECT_EQ(select_not_above(2, 2, 3, 4), 3);
    EXPECT_EQ(select_not_above(2, NAN, 3, 4), 4);
    EXPECT_EQ(larger(1, 2), 2);
    EXPECT_EQ(larger(NAN, 2), 2);
}

TEST(Select, TakesTheInverseRootWithinSevenPercent) {
    for (double x = 1e-300; x < 1e300; x *= 1.7) {
        EXPECT_NEAR(inverse_root_16(x) * std::pow(x, 1.0 / 16), 1, 0.07) << x;
    }
    EXPECT_GT(inverse_root_16(0), 1e18);
    EXPECT_LT(inverse_root_16(NAN), 1e-18);
    EXPECT_GE(inverse_root_16(NAN), 0);
}
