// Tests the functions that work on the bits of numbers.
#include "sweep/logarithm.h"

#include <gtest/gtest.h>

#include <cmath>

namespace voltpile {
namespace {

TEST(Logarithm, IsThatOfTheLibrary) {
    for (double x = 1e-300; x < 1e300; x *= 1.37) {
        EXPECT_NEAR(logarithm(x), std::log(x), 3e-14 + 2e-16 * std::abs(std::log(x))) << x;
    }
    // Both ends of the mantissa's range.
    for (const double x : {1.0, 1 + 1e-15, 2 - 1e-15, 0.5, 1.4142135623730951}) {
        EXPECT_NEAR(logarithm(x), std::log(x), 3e-14) << x;
    }
}

TEST(InverseRootPower, BringsTheNumberNearOne) {
    for (double x = 1e-300; x < 1e300; x *= 1.37) {
        const double p = inverse_root_power(x);
        EXPECT_GE(x * p * p, 0.5) << x;
        EXPECT_LT(x * p * p, 2) << x;
        EXPECT_EQ(p, std::exp2(std::round(std::log2(p)))) << x;
    }
    EXPECT_GT(inverse_root_power(0.0), 1e100);
}

}  // namespace
}  // namespace voltpile
