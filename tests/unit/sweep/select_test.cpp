#include "sweep/select.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace voltpile;

template <class Number>
void expect_nan_to_be_false() {
    const Number one = 1, two = 2, yes = 3, no = 4, nan = NAN;
    EXPECT_EQ(select_not_above(two, two, yes, no), yes);
    EXPECT_EQ(select_not_above(two, nan, yes, no), no);
    EXPECT_EQ(larger(one, two), two);
    EXPECT_EQ(larger(nan, two), two);
    EXPECT_EQ(smaller(one, two), one);
    EXPECT_EQ(smaller(nan, two), two);
}

TEST(Select, TreatsNanAsFalse) {
    EXPECT_EQ(select_below(1, 2, 3, 4), 3);
    EXPECT_EQ(select_below(2, 2, 3, 4), 4);
    EXPECT_EQ(select_below(NAN, 2, 3, 4), 4);
    expect_nan_to_be_false<double>();
    expect_nan_to_be_false<float>();
}

TEST(Select, TakesTheInverseRootWithinSevenPercent) {
    for (double x = 1e-300; x < 1e300; x *= 1.7) {
        EXPECT_NEAR(inverse_root_16(x) * std::pow(x, 1.0 / 16), 1, 0.07) << x;
    }
    EXPECT_GT(inverse_root_16(0), 1e18);
    EXPECT_LT(inverse_root_16(NAN), 1e-18);
    EXPECT_GE(inverse_root_16(NAN), 0);
}
