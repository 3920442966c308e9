// What the contraction of expressions saves, counted by hand, and what it must leave alone.
#include "ode/contraction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ode/expression.h"
#include "ode/varied_jobs.h"

namespace voltpile::ode::testing {
namespace {

const std::vector<std::string> kNames = {"a", "b", "c", "d", "p", "q"};  // p and q do not move

class Expressions {
  public:
    explicit Expressions(const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
            int depth = 0;
            roots_.push_back(parse_expression(
                text, graph_,
                [this](const std::string& name) {
                    const auto found = std::ranges::find(kNames, name);
                    return found == kNames.end()
                               ? std::nullopt
                               : std::optional(graph_.symbol(static_cast<int>(found - kNames.begin())));
                },
                kNames, depth));
        }
        contracted_ = contracted(graph_, roots_, [](int symbol) { return symbol < 4; });
    }

    int count(Op op) const {
        const std::vector<bool> needed = graph_.needed_for(contracted_);
        int found = 0;
        for (int i = 0; i < static_cast<int>(needed.size()); ++i)
            found += needed[static_cast<std::size_t>(i)] && graph_.node(i).op == op;
        return found;
    }

    double before(std::size_t i) const { return value(roots_[i]); }
    double after(std::size_t i) const { return value(contracted_[i]); }

  private:
    double value(int i) const {
        constexpr double symbols[] = {0.7, -1.3, 0.1, 2.6, 1.9, -0.4};
        const Node& node = graph_.node(i);
        if (node.op == Op::Constant) return node.value;
        if (node.op == Op::Symbol) return symbols[node.operand[0]];
        double v[3] = {};
        for (int k = 0; k < operands(node.op); ++k) v[k] = value(node.operand[k]);
        return compute(node.op, v[0], v[1], v[2]);
    }

    Graph graph_;
    std::vector<int> roots_, contracted_;
};

TEST(OdeContraction, FusesProductsIntoSums) {
    const Expressions of({"a^2 + b^2 + c^2", "a*b - c", "c - a*d"});
    EXPECT_EQ(of.count(Op::Multiply), 1);  // the first square
    EXPECT_EQ(of.count(Op::MultiplyAdd), 2);
    EXPECT_EQ(of.count(Op::MultiplySubtract), 1);
    EXPECT_EQ(of.count(Op::SubtractMultiply), 1);
    EXPECT_EQ(of.count(Op::Add) + of.count(Op::Subtract), 0);
    EXPECT_EQ(of.after(1), std::fma(0.7, -1.3, -0.1));
    EXPECT_EQ(of.after(2), std::fma(-0.7, 2.6, 0.1));
}

TEST(OdeContraction, FusesAProductIntoAllItsSumsOrNone) {
    const Expressions all({"a*b + c", "d - a*b"});
    EXPECT_EQ(all.count(Op::Multiply), 0);
    const Expressions none({"a*b + c", "sin(a*b)"});
    EXPECT_EQ(none.count(Op::Multiply), 1);
    EXPECT_EQ(none.count(Op::MultiplyAdd), 0);
    const Expressions root({"a*b + c", "a*b"});
    EXPECT_EQ(root.count(Op::MultiplyAdd), 0);
}

TEST(OdeContraction, LeavesProductsThatPointsComputeOnce) {
    const Expressions of({"p*q + a"});
    EXPECT_EQ(of.count(Op::Multiply), 1);
    EXPECT_EQ(of.count(Op::Add), 1);
}

TEST(OdeContraction, ComputesDifferencesOnceWhateverTheirSign) {
    const Expressions of({"p*(b - a) + c", "q*(a - b) + d", "(a - b)*(b - a)", "-(a*-b)/-c"});
    EXPECT_EQ(of.count(Op::Subtract), 1);
    EXPECT_EQ(of.count(Op::MultiplyAdd), 1);
    EXPECT_EQ(of.count(Op::SubtractMultiply), 1);
    EXPECT_EQ(of.count(Op::Negate), 2);  // of the results of the last two
    for (const std::size_t i : {0, 1, 2, 3}) EXPECT_NEAR(of.after(i), of.before(i), 1e-15) << i;
}

// With b = a, sqrt(a a - b b) must be 0: rounded once, the difference may be negative.
TEST(OdeContraction, KeepsDifferencesOfProductsUnderRootsExact) {
    const Expressions root({"sqrt(a*a - b*b)"});
    EXPECT_EQ(root.count(Op::Multiply), 2);
    EXPECT_EQ(root.count(Op::Subtract), 1);
    const Expressions free({"a*a - b*b"});
    EXPECT_EQ(free.count(Op::Multiply), 1);
    EXPECT_EQ(free.count(Op::SubtractMultiply), 1);
}

TEST(OdeContraction, LeavesModAsItIs) {
    const Expressions of({"mod(a, d) + c"});
    EXPECT_EQ(of.count(Op::Multiply), 1);
    EXPECT_EQ(of.count(Op::SubtractMultiply) + of.count(Op::MultiplyAdd), 0);
}

// Per evaluation of the three bodies: 9 differences, 3 x 3 for the squares of distances, 3 roots, products
// with them and divisions, 6 products with masses, 2 for each of 9 accelerations. A step has four of them, an
// advance of 18 variables by three stages and 4 operations on each at its end.
TEST(OdeContraction, StepOfThreeBodiesHasNoOperationTooMany) {
    const JobProblem problem(shipped_job("three_bodies", 3));
    int arithmetic = 0, roots = 0, quotients = 0;
    for (int i = 0; i < problem.problem().step.size; ++i) {
        const Op op = problem.problem().step.code[i].op;
        arithmetic += op == Op::Add || op == Op::Subtract || op == Op::Multiply || op == Op::MultiplyAdd ||
                      op == Op::MultiplySubtract || op == Op::SubtractMultiply;
        roots += op == Op::Sqrt;
        quotients += op == Op::Divide;
    }
    const int evaluation = 9 + 3 * 3 + 3 + 6 + 2 * 9;
    // Beside them: 17 for the sum of the next states and one for its check, two for the count and the time,
    // three for the alarm; the time has a fused and a plain form.
    EXPECT_LE(arithmetic, 4 * evaluation + 18 * 3 + 18 * 4 + 17 + 1 + 2 + 2 + 3);
    EXPECT_EQ(roots, 4 * 3);
    EXPECT_EQ(quotients, 4 * 3);
}

}  // namespace
}  // namespace voltpile::ode::testing
