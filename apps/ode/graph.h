// Expressions as a graph in which equal subexpressions are one node.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace voltpile::ode {

// Comparisons are 1 where they hold and 0 where not. Select is b if a is not 0, else c.
#define VOLTPILE_ODE_OPERATIONS(USE)                                                         \
    USE(Constant)                                                                            \
    USE(Symbol)                                                                              \
    USE(Copy)                                                                                \
    USE(Add)                                                                                 \
    USE(Subtract)                                                                            \
    USE(Multiply)                                                                            \
    USE(Divide)                                                                              \
    USE(Negate)                                                                              \
    USE(Sqrt)                                                                                \
    USE(Abs)                                                                                 \
    USE(Floor)                                                                               \
    USE(Sin)                                                                                 \
    USE(Cos)                                                                                 \
    USE(Exp)                                                                                 \
    USE(Log)                                                                                 \
    USE(Tanh)                                                                                \
    USE(Atan)                                                                                \
    USE(Atan2)                                                                               \
    USE(Power)                                                                               \
    USE(Min)                                                                                 \
    USE(Max)                                                                                 \
    USE(Less)                                                                                \
    USE(NotAbove)                                                                            \
    USE(Select)                                                                              \
    USE(MultiplyAdd)      /* a b + c, rounded once; made by contracted(), as the next two */ \
    USE(MultiplySubtract) /* a b - c */                                                      \
    USE(SubtractMultiply) /* c - a b */

enum class Op : std::uint8_t {
#define VOLTPILE_ENUMERATOR(name) name,
    VOLTPILE_ODE_OPERATIONS(VOLTPILE_ENUMERATOR)
#undef VOLTPILE_ENUMERATOR
};

// How many operands the operation has.
int operands(Op op);

struct Node {
    Op op = Op::Constant;
    int operand[3] = {-1, -1, -1};  // nodes; of a Symbol the first is its number
    double value = 0;               // of a Constant
};

class Graph {
  public:
    // Return the index of a node, which is larger than those of its operands. Operations on constants are
    // computed at once, in the same arithmetic as in the kernels.
    int constant(double value);
    int symbol(int number);
    int apply(Op op, int a, int b = -1, int c = -1);
    // a^n for a constant n: products for whole numbers up to 64, times a root for halves of odd ones.
    int power(int a, int b);

    const Node& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
    int size() const { return static_cast<int>(nodes_.size()); }
    bool is_constant(int index) const { return node(index).op == Op::Constant; }
    bool is_constant(int index, double value) const {
        return is_constant(index) && node(index).value == value;
    }

    // Returns the same expressions with symbols replaced: symbol s by by_symbol[s], where that is not -1.
    std::vector<int> substitute(std::span<const int> roots, const std::vector<int>& by_symbol);

    // Returns the derivatives of expressions along a direction: d[s] is the node of symbol s's derivative, -1
    // if that is 0. Forward differentiation, one rule per operation. Derivatives of floor and of comparisons
    // are 0.
    std::vector<int> derivatives(std::span<const int> roots, const std::vector<int>& d);

    // Whether each node is needed for one of the roots.
    std::vector<bool> needed_for(std::span<const int> roots) const;

  private:
    int insert(const Node& node);
    int derivative_of(const Node& node, int self, const std::vector<int>& d);
    int whole_power(int a, int n);

    std::vector<Node> nodes_;
    std::map<std::tuple<Op, int, int, int, std::uint64_t>, int> index_;
};

// Computes one operation on plain numbers, fused ones with one rounding on every processor.
double compute(Op op, double a, double b, double c);

}  // namespace voltpile::ode
