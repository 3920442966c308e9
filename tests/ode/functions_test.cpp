// Elementary functions and derivatives against the C library and difference quotients.
#include "ode/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ode/expression.h"
#include "ode/function_table.h"

namespace voltpile::ode {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

TEST(OdeFunctions, AgreeWithTheLibrary) {
    for (int i = 0; i < 200'000; ++i) {
        const double part = (i + 0.37) / 200'000;
        const double x = 1400 * part - 700;
        EXPECT_NEAR(exponential(x), std::exp(x), 4 * kEpsilon * std::exp(x)) << x;
        const double y = std::exp2(1800 * part - 900);
        EXPECT_NEAR(natural_logarithm(y), std::log(y), 2 * kEpsilon * std::abs(std::log(y))) << y;
        const double near = 0.5 + part;
        EXPECT_NEAR(natural_logarithm(near), std::log(near), 4 * kEpsilon * std::abs(std::log(near))) << near;
        const double z = std::tan(3.1 * (part - 0.5));
        EXPECT_NEAR(arc_tangent(z), std::atan(z), 6 * kEpsilon * std::abs(std::atan(z))) << z;
        EXPECT_NEAR(hyperbolic_tangent(40 * part - 20), std::tanh(40 * part - 20), 3e-16);
        const double angle = 6.28 * (part - 0.5);
        EXPECT_NEAR(angle_of_point(std::sin(angle), std::cos(angle)), angle, 1e-15) << angle;
        EXPECT_NEAR(general_power(y, 0.3), std::pow(y, 0.3), 1e-13 * std::pow(y, 0.3));
    }
}

TEST(OdeFunctions, HandleTheEndsOfTheRange) {
    EXPECT_EQ(exponential(kInfinity), kInfinity);
    EXPECT_EQ(exponential(-kInfinity), 0);
    EXPECT_EQ(exponential(710.0), kInfinity);
    EXPECT_NEAR(exponential(-740.0) / std::exp(-740.0), 1, 0.01);  // subnormal
    EXPECT_TRUE(std::isnan(exponential(std::nan(""))));
    EXPECT_EQ(natural_logarithm(0.0), -kInfinity);
    EXPECT_EQ(natural_logarithm(kInfinity), kInfinity);
    EXPECT_TRUE(std::isnan(natural_logarithm(-1.0)));
    EXPECT_TRUE(std::isnan(natural_logarithm(std::nan(""))));
    EXPECT_NEAR(natural_logarithm(1e-310), std::log(1e-310), 1e-13);
    EXPECT_EQ(natural_logarithm(1.0), 0);
    EXPECT_EQ(exponential(0.0), 1);
    EXPECT_EQ(arc_tangent(0.0), 0);
    EXPECT_DOUBLE_EQ(arc_tangent(kInfinity), std::atan(kInfinity));
    EXPECT_EQ(angle_of_point(0.0, 0.0), 0);
    EXPECT_DOUBLE_EQ(angle_of_point(1.0, 0.0), std::atan(kInfinity));
    EXPECT_EQ(general_power(0.0, 0.5), 0);
}

TEST(OdeFunctions, PowersOfNegativeNumbers) {
    for (const double x : {-1.5, -3.0, -0.25})
        for (const double n : {-3.0, -2.0, 0.0, 1.0, 2.0, 3.0, 70.0, 71.0})
            EXPECT_NEAR(general_power(x, n) / std::pow(x, n), 1, 1e-13) << x << " " << n;
    EXPECT_TRUE(std::isnan(general_power(-1.5, 0.5)));
    EXPECT_EQ(general_power(0.0, 0.0), 1);
    EXPECT_TRUE(std::isnan(general_power(std::nan(""), 2.0)));
}

double value_of(const Graph& graph, int node, double x) {
    const Node& n = graph.node(node);
    if (n.op == Op::Constant) return n.value;
    if (n.op == Op::Symbol) return x;
    double v[3] = {};
    for (int k = 0; k < operands(n.op); ++k) v[k] = value_of(graph, n.operand[k], x);
    return compute(n.op, v[0], v[1], v[2]);
}

TEST(OdeFunctions, DerivativesAgreeWithDifferences) {
    for (const char* const text : {"x^2",
                                   "x^3.5",
                                   "x^-2",
                                   "x^x",
                                   "2^x",
                                   "1/x",
                                   "(x + 1)/(x^2 + 2)",
                                   "-x*x*x",
                                   "sin(x)*cos(2*x)",
                                   "tan(x)",
                                   "exp(-x^2)",
                                   "log(x + 1)",
                                   "sqrt(x)",
                                   "abs(x - 1)*x",
                                   "tanh(x)",
                                   "atan(3*x)",
                                   "atan2(x, 2 - x)",
                                   "atan2(1, x)",
                                   "asin(x/2)",
                                   "acos(x/3)",
                                   "sinh(x)",
                                   "cosh(x)",
                                   "min(x, 1)",
                                   "max(x^2, x, 0.3)",
                                   "where(x < 0.5, x, x^2)",
                                   "x*(x > 0.4)",
                                   "mod(x, 0.25)",
                                   "floor(x)*x",
                                   "pow(x, 0.3)",
                                   "sign(x - 0.5)*x"}) {
        Graph graph;
        const int x = graph.symbol(0);
        int depth = 0;
        const int root = parse_expression(
            text, graph,
            [&](const std::string& name) { return name == "x" ? std::optional(x) : std::nullopt; }, {"x"},
            depth);
        const int derivative = graph.derivatives(std::vector<int>{root}, {graph.constant(1)}).at(0);
        for (const double at : {0.31, 0.7, 1.4}) {
            const double h = 1e-5;
            const double difference =
                (value_of(graph, root, at + h) - value_of(graph, root, at - h)) / (2 * h);
            EXPECT_NEAR(value_of(graph, derivative, at), difference, 1e-7 * (1 + std::abs(difference)))
                << text << " at " << at;
        }
    }
}

TEST(OdeFunctions, ExpressionsHaveTheUsualPrecedence) {
    const auto value = [](const char* text) {
        Graph graph;
        int depth = 0;
        const int root = parse_expression(
            text, graph, [](const std::string&) { return std::nullopt; }, {}, depth);
        return graph.node(root).value;
    };
    EXPECT_EQ(value("1 + 2*3"), 7);
    EXPECT_EQ(value("-2^2"), -4);
    EXPECT_EQ(value("2^3^2"), 512);
    EXPECT_EQ(value("2**-1"), 0.5);
    EXPECT_EQ(value("8/4/2 - 1 - 1"), -1);
    EXPECT_EQ(value("(1 + 2)*-3"), -9);
    EXPECT_EQ(value("1 < 2"), 1);
    EXPECT_EQ(value("2 >= 3"), 0);
    EXPECT_EQ(value("mod(-1, 3)"), 2);
    EXPECT_EQ(value("1.5e2"), 150);
    EXPECT_EQ(value("cos(pi)"), -1);
}

}  // namespace
}  // namespace voltpile::ode
