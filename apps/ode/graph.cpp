#include "ode/graph.h"

#include <bit>
#include <cmath>
#include <stdexcept>

#include "ode/functions.h"

namespace voltpile::ode {

int operands(Op op) {
    switch (op) {
        case Op::Constant:
        case Op::Symbol:
            return 0;
        case Op::Copy:
        case Op::Negate:
        case Op::Sqrt:
        case Op::Abs:
        case Op::Floor:
        case Op::Sin:
        case Op::Cos:
        case Op::Exp:
        case Op::Log:
        case Op::Tanh:
        case Op::Atan:
            return 1;
        case Op::Select:
        case Op::MultiplyAdd:
        case Op::MultiplySubtract:
        case Op::SubtractMultiply:
            return 3;
        default:
            return 2;
    }
}

double compute(Op op, double a, double b, double c) {
    switch (op) {
        case Op::Constant:
        case Op::Symbol:
            throw std::logic_error("constants and symbols compute nothing");
        case Op::Copy:
            return a;
        case Op::Add:
            return a + b;
        case Op::Subtract:
            return a - b;
        case Op::Multiply:
            return a * b;
        case Op::Divide:
            return a / b;
        case Op::Negate:
            return -a;
        case Op::Sqrt:
            return std::sqrt(a);
        case Op::Abs:
            return std::abs(a);
        case Op::Floor:
            return std::floor(a);
        case Op::Sin:
            return sine(a);
        case Op::Cos:
            return cosine(a);
        case Op::Exp:
            return exponential(a);
        case Op::Log:
            return natural_logarithm(a);
        case Op::Tanh:
            return hyperbolic_tangent(a);
        case Op::Atan:
            return arc_tangent(a);
        case Op::Atan2:
            return angle_of_point(a, b);
        case Op::Power:
            return general_power(a, b);
        case Op::Min:
            return a < b ? a : b;
        case Op::Max:
            return a > b ? a : b;
        case Op::Less:
            return a < b ? 1 : 0;
        case Op::NotAbove:
            return a <= b ? 1 : 0;
        case Op::Select:
            return a != 0 ? b : c;
        case Op::MultiplyAdd:
            return std::fma(a, b, c);
        case Op::MultiplySubtract:
            return std::fma(a, b, -c);
        case Op::SubtractMultiply:
            return std::fma(-a, b, c);
    }
    throw std::logic_error("unknown operation");
}

int Graph::insert(const Node& node) {
    const auto key = std::make_tuple(node.op, node.operand[0], node.operand[1], node.operand[2],
                                     std::bit_cast<std::uint64_t>(node.value));
    const auto [found, added] = index_.try_emplace(key, size());
    if (added) nodes_.push_back(node);
    return found->second;
}

int Graph::constant(double value) {
    return insert({.op = Op::Constant, .value = value});
}

int Graph::symbol(int number) {
    return insert({.op = Op::Symbol, .operand = {number, -1, -1}});
}

int Graph::apply(Op op, int a, int b, int c) {
    const int count = operands(op);
    const auto value = [&](int index) { return index < 0 ? 0.0 : node(index).value; };
    if (is_constant(a) && (count < 2 || is_constant(b)) && (count < 3 || is_constant(c)))
        return constant(compute(op, value(a), value(b), value(c)));
    // What changes no bit of a finite value.
    if (op == Op::Multiply && is_constant(a, 1)) return b;
    if ((op == Op::Multiply || op == Op::Divide) && is_constant(b, 1)) return a;
    if (op == Op::Negate && node(a).op == Op::Negate) return node(a).operand[0];
    if ((op == Op::Add || op == Op::Multiply) && a > b) std::swap(a, b);  // both are commutative to the bit
    return insert({.op = op, .operand = {a, b, c}});
}

int Graph::whole_power(int a, int n) {
    if (n == 1) return a;
    const int half = whole_power(a, n / 2);
    const int square = apply(Op::Multiply, half, half);
    return n % 2 == 0 ? square : apply(Op::Multiply, square, a);
}

int Graph::power(int a, int b) {
    const double n = is_constant(b) ? std::abs(node(b).value) : 0.25;
    if (n > 64 || 2 * n != std::floor(2 * n)) return apply(Op::Power, a, b);
    if (n == 0) return constant(1);
    const int whole = static_cast<int>(n);
    int result = whole == 0 ? -1 : whole_power(a, whole);
    if (n != whole) {
        const int root = apply(Op::Sqrt, a);
        result = whole == 0 ? root : apply(Op::Multiply, result, root);
    }
    return node(b).value > 0 ? result : apply(Op::Divide, constant(1), result);
}

std::vector<bool> Graph::needed_for(std::span<const int> roots) const {
    std::vector<bool> needed(nodes_.size());
    for (const int root : roots) needed[static_cast<std::size_t>(root)] = true;
    for (int i = size() - 1; i >= 0; --i) {
        if (!needed[static_cast<std::size_t>(i)]) continue;
        for (int k = 0; k < operands(node(i).op); ++k)
            needed[static_cast<std::size_t>(node(i).operand[k])] = true;
    }
    return needed;
}

std::vector<int> Graph::substitute(std::span<const int> roots, const std::vector<int>& by_symbol) {
    const std::vector<bool> needed = needed_for(roots);
    std::vector<int> now(needed.size(), -1);
    const auto at = [&](int index) { return index < 0 ? -1 : now[static_cast<std::size_t>(index)]; };
    for (std::size_t i = 0; i < needed.size(); ++i) {
        if (!needed[i]) continue;
        const Node old = nodes_[i];
        const auto number = static_cast<std::size_t>(std::max(old.operand[0], 0));
        if (old.op == Op::Constant)
            now[i] = static_cast<int>(i);
        else if (old.op == Op::Symbol)
            now[i] =
                number < by_symbol.size() && by_symbol[number] >= 0 ? by_symbol[number] : static_cast<int>(i);
        else
            now[i] = apply(old.op, at(old.operand[0]), at(old.operand[1]), at(old.operand[2]));
    }
    std::vector<int> result;
    for (const int root : roots) result.push_back(at(root));
    return result;
}

}  // namespace voltpile::ode
