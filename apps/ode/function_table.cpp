#include "ode/function_table.h"

#include <numbers>

namespace voltpile::ode {

namespace {

using Arguments = std::vector<int>;

template <Op op>
int one(Graph& graph, const Arguments& a) {
    return graph.apply(op, a[0]);
}
template <Op op>
int two(Graph& graph, const Arguments& a) {
    return graph.apply(op, a[0], a[1]);
}
template <Op op>
int several(Graph& graph, const Arguments& a) {
    int result = a[0];
    for (std::size_t i = 1; i < a.size(); ++i) result = graph.apply(op, result, a[i]);
    return result;
}

int tangent(Graph& graph, const Arguments& a) {
    return graph.apply(Op::Divide, graph.apply(Op::Sin, a[0]), graph.apply(Op::Cos, a[0]));
}

// sqrt(1 - x^2), as sqrt((1 - x) (1 + x)).
int cosine_of_sine(Graph& graph, int x) {
    const int unit = graph.constant(1);
    return graph.apply(Op::Sqrt, graph.apply(Op::Multiply, graph.apply(Op::Subtract, unit, x),
                                             graph.apply(Op::Add, unit, x)));
}
int arc_sine(Graph& graph, const Arguments& a) {
    return graph.apply(Op::Atan2, a[0], cosine_of_sine(graph, a[0]));
}
int arc_cosine(Graph& graph, const Arguments& a) {
    return graph.apply(Op::Atan2, cosine_of_sine(graph, a[0]), a[0]);
}

template <Op op>
int hyperbolic(Graph& graph, const Arguments& a) {
    const int rising = graph.apply(Op::Exp, a[0]);
    const int falling = graph.apply(Op::Exp, graph.apply(Op::Negate, a[0]));
    return graph.apply(Op::Multiply, graph.constant(0.5), graph.apply(op, rising, falling));
}

int sign(Graph& graph, const Arguments& a) {
    const int zero = graph.constant(0);
    return graph.apply(Op::Subtract, graph.apply(Op::Less, zero, a[0]), graph.apply(Op::Less, a[0], zero));
}

int modulo(Graph& graph, const Arguments& a) {  // a - b floor(a/b): the sign of b
    const int turns = graph.apply(Op::Floor, graph.apply(Op::Divide, a[0], a[1]));
    return graph.apply(Op::Subtract, a[0], graph.apply(Op::Multiply, a[1], turns));
}

int power(Graph& graph, const Arguments& a) {
    return graph.power(a[0], a[1]);
}

int where(Graph& graph, const Arguments& a) {
    return graph.apply(Op::Select, a[0], a[1], a[2]);
}

constexpr FunctionInfo functions[] = {
    {"sin", 1, 1, one<Op::Sin>},
    {"cos", 1, 1, one<Op::Cos>},
    {"tan", 1, 1, tangent},
    {"asin", 1, 1, arc_sine},
    {"acos", 1, 1, arc_cosine},
    {"atan", 1, 1, one<Op::Atan>},
    {"atan2", 2, 2, two<Op::Atan2>},
    {"sinh", 1, 1, hyperbolic<Op::Subtract>},
    {"cosh", 1, 1, hyperbolic<Op::Add>},
    {"tanh", 1, 1, one<Op::Tanh>},
    {"exp", 1, 1, one<Op::Exp>},
    {"log", 1, 1, one<Op::Log>},
    {"sqrt", 1, 1, one<Op::Sqrt>},
    {"pow", 2, 2, power},
    {"abs", 1, 1, one<Op::Abs>},
    {"sign", 1, 1, sign},
    {"floor", 1, 1, one<Op::Floor>},
    {"mod", 2, 2, modulo},
    {"min", 2, 16, several<Op::Min>},
    {"max", 2, 16, several<Op::Max>},
    {"where", 3, 3, where},
};

}  // namespace

const FunctionInfo* function_named(std::string_view name) {
    for (const FunctionInfo& function : functions)
        if (function.name == name) return &function;
    return nullptr;
}

std::vector<std::string> function_names() {
    std::vector<std::string> names;
    for (const FunctionInfo& function : functions) names.emplace_back(function.name);
    return names;
}

std::optional<double> constant_named(std::string_view name) {
    if (name == "pi") return std::numbers::pi;
    return std::nullopt;
}

}  // namespace voltpile::ode
