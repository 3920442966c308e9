// Forward differentiation of expressions.
#include <algorithm>

#include "ode/graph.h"

namespace voltpile::ode {

namespace {

// Builds sums of products whose factors may be 0, which is the node -1.
class Sums {
  public:
    explicit Sums(Graph& graph) : graph_(graph) {}

    int times(int a, int b) { return a < 0 || b < 0 ? -1 : graph_.apply(Op::Multiply, a, b); }
    int over(int a, int b) { return a < 0 ? -1 : graph_.apply(Op::Divide, a, b); }
    int plus(int a, int b) { return a < 0 ? b : b < 0 ? a : graph_.apply(Op::Add, a, b); }
    int minus(int a, int b) {
        return b < 0 ? a : a < 0 ? graph_.apply(Op::Negate, b) : graph_.apply(Op::Subtract, a, b);
    }
    int choose(int condition, int a, int b) {
        if (a < 0 && b < 0) return -1;
        const int zero = graph_.constant(0);
        return graph_.apply(Op::Select, condition, a < 0 ? zero : a, b < 0 ? zero : b);
    }

  private:
    Graph& graph_;
};

}  // namespace

// self: the node itself. d: the derivatives of all nodes before it.
int Graph::derivative_of(const Node& node, int self, const std::vector<int>& d) {
    Sums sum(*this);
    const int a = node.operand[0], b = node.operand[1], c = node.operand[2];
    const auto of = [&](int index) { return index < 0 ? -1 : d[static_cast<std::size_t>(index)]; };
    const int da = of(a), db = of(b), dc = of(c);
    const int one = constant(1);
    switch (node.op) {
        case Op::Add:
            return sum.plus(da, db);
        case Op::Subtract:
            return sum.minus(da, db);
        case Op::Multiply:
            return sum.plus(sum.times(da, b), sum.times(a, db));
        case Op::Divide:
            return sum.over(sum.minus(da, sum.times(self, db)), b);
        case Op::Negate:
            return sum.minus(-1, da);
        case Op::Copy:
            return da;
        case Op::Sqrt:
            return sum.over(da, apply(Op::Multiply, constant(2), self));
        case Op::Abs:
            return sum.choose(apply(Op::Less, a, constant(0)), sum.minus(-1, da), da);
        case Op::Sin:
            return da < 0 ? -1 : sum.times(apply(Op::Cos, a), da);
        case Op::Cos:
            return da < 0 ? -1 : sum.minus(-1, sum.times(apply(Op::Sin, a), da));
        case Op::Exp:
            return sum.times(self, da);
        case Op::Log:
            return sum.over(da, a);
        case Op::Tanh:
            return da < 0 ? -1 : sum.times(sum.minus(one, sum.times(self, self)), da);
        case Op::Atan:
            return da < 0 ? -1 : sum.over(da, sum.plus(one, sum.times(a, a)));
        case Op::Atan2: {
            const int above = sum.minus(sum.times(b, da), sum.times(a, db));
            return above < 0 ? -1 : sum.over(above, sum.plus(sum.times(a, a), sum.times(b, b)));
        }
        case Op::Power: {
            // b a^(b-1) a' + a^b ln(a) b'
            int result = -1;
            if (da >= 0) result = sum.times(sum.times(b, power(a, apply(Op::Subtract, b, one))), da);
            if (db >= 0) result = sum.plus(result, sum.times(sum.times(self, apply(Op::Log, a)), db));
            return result;
        }
        case Op::Min:
            return sum.choose(apply(Op::Less, a, b), da, db);
        case Op::Max:
            return sum.choose(apply(Op::Less, b, a), da, db);
        case Op::Select:
            return sum.choose(a, db, dc);
        default:  // piecewise constant
            return -1;
    }
}

std::vector<int> Graph::derivatives(std::span<const int> roots, const std::vector<int>& d) {
    const std::vector<bool> needed = needed_for(roots);
    std::vector<int> of(needed.size(), -1);
    for (std::size_t i = 0; i < needed.size(); ++i) {
        if (!needed[i]) continue;
        const Node node = nodes_[i];
        if (node.op == Op::Symbol) {
            const auto number = static_cast<std::size_t>(node.operand[0]);
            of[i] = number < d.size() ? d[number] : -1;
        } else if (node.op != Op::Constant) {
            of[i] = derivative_of(node, static_cast<int>(i), of);
        }
    }
    std::vector<int> result;
    for (const int root : roots) {
        const int derivative = of[static_cast<std::size_t>(root)];
        result.push_back(derivative < 0 ? constant(0) : derivative);
    }
    return result;
}

}  // namespace voltpile::ode
