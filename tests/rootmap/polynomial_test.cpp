// Polynomials from text, and their roots.
#include "rootmap/polynomial.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rootmap/polynomial_roots.h"

namespace voltpile::rootmap {
namespace {

using Numbers = std::vector<std::complex<double>>;

std::string complaint(const char* text) {
    try {
        parse_polynomial(text);
    } catch (const PolynomialError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Polynomials, AreReadAsWritten) {
    EXPECT_EQ(parse_polynomial("z^5 - z - 1"), (Numbers{-1, -1, 0, 0, 0, 1}));
    EXPECT_EQ(parse_polynomial("2z^2+3"), (Numbers{3, 0, 2}));
    EXPECT_EQ(parse_polynomial("-z^2"), (Numbers{0, 0, -1}));
    EXPECT_EQ(parse_polynomial("(z-1)^2 (z+2i)"), (Numbers{{0, 2}, {1, -4}, {-2, 2}, 1}));
    EXPECT_EQ(parse_polynomial("(1.5 - 2e1i) z / 2"), (Numbers{0, {0.75, -10}}));
    EXPECT_EQ(parse_polynomial("z - z + 7"), (Numbers{7}));
}

TEST(Polynomials, AreRefusedWithACaretAtTheCharacter) {
    EXPECT_EQ(complaint("z^5 - * z"),
              "expected a number, z, i or '(', at character 7\n    z^5 - * z\n          ^");
    EXPECT_EQ(
        complaint("z + x"),
        "unknown name 'x': the variable is z, the imaginary unit i, at character 5\n    z + x\n        ^");
    EXPECT_EQ(complaint("(z + 1"), "a parenthesis is not closed, at character 7\n    (z + 1\n          ^");
    EXPECT_EQ(complaint("z + 1)"),
              "there is no parenthesis to close, at character 6\n    z + 1)\n         ^");
    EXPECT_EQ(complaint("z^65"), "expected an exponent from 0 to 64, at character 3\n    z^65\n      ^");
    EXPECT_EQ(complaint("z^40 * z^30").substr(0, 21), "the degree exceeds 64");
    EXPECT_EQ(complaint("z / 0").substr(0, 16), "division by zero");
    EXPECT_EQ(complaint("1 / z").substr(0, 12), "a polynomial");
    EXPECT_EQ(complaint("z = 1").substr(0, 14), "unexpected '='");
    EXPECT_EQ(complaint("1e999").substr(0, 12), "not a number");
    EXPECT_NE(complaint(std::string(5000, '(').c_str()), "accepted");
    EXPECT_NE(complaint(""), "accepted");
}

// numpy.roots([1, 0, 0, 0, -1, -1]), to 15 digits.
TEST(Roots, AgreeWithNumpy) {
    const RootList roots = find_roots(make_polynomial(parse_polynomial("z^5 - z - 1")), 1e-7);
    ASSERT_EQ(roots.count, 5);
    const double expected[5][2] = {{1.16730397826142, 0},
                                   {0.181232444469875, 1.08395410131771},
                                   {-0.764884433600585, 0.352471546031726},
                                   {-0.764884433600585, -0.352471546031726},
                                   {0.181232444469875, -1.08395410131771}};
    for (int i = 0; i < 5; ++i) {
        EXPECT_NEAR(roots.re[i], expected[i][0], 1e-14) << i;
        EXPECT_NEAR(roots.im[i], expected[i][1], 1e-14) << i;
    }
}

TEST(Roots, NameAMultipleRootOnce) {
    const RootList roots = find_roots(make_polynomial(parse_polynomial("(z - 1)^3 (z + 2)^2 z")), 1e-7);
    ASSERT_EQ(roots.count, 3);
    EXPECT_NEAR(roots.re[0], 0, 1e-12);
    EXPECT_NEAR(roots.re[1], 1, 1e-6);
    EXPECT_NEAR(roots.re[2], -2, 1e-6);
}

TEST(Roots, OfAHighDegreeLieOnTheUnitCircle) {
    const RootList roots = find_roots(make_polynomial(parse_polynomial("z^64 - 1")), 1e-7);
    ASSERT_EQ(roots.count, 64);
    const double turn = 2 * 3.14159265358979323846 / 64;
    for (int i = 0; i < 64; ++i) {
        EXPECT_NEAR(roots.re[i], std::cos(turn * i), 1e-14) << i;
        EXPECT_NEAR(roots.im[i], std::sin(turn * i), 1e-14) << i;
    }
}

}  // namespace
}  // namespace voltpile::rootmap
