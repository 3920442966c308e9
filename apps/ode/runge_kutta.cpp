#include "ode/runge_kutta.h"

namespace voltpile::ode {

namespace {

// Returns a + b c for each element of a and c.
std::vector<int> advanced(Graph& graph, const std::vector<int>& a, int b, const std::vector<int>& c) {
    std::vector<int> result;
    for (std::size_t i = 0; i < a.size(); ++i)
        result.push_back(graph.apply(Op::Add, a[i], graph.apply(Op::Multiply, b, c[i])));
    return result;
}

// Returns the sum of stages with these weights; zeros are left out.
std::vector<int> weighted(Graph& graph, const std::vector<std::vector<int>>& k, const double* weights) {
    std::vector<int> result(k[0].size(), -1);
    for (std::size_t j = 0; j < k.size(); ++j) {
        if (weights[j] == 0) continue;
        const int weight = graph.constant(weights[j]);
        for (std::size_t i = 0; i < result.size(); ++i) {
            const int term = graph.apply(Op::Multiply, weight, k[j][i]);
            result[i] = result[i] < 0 ? term : graph.apply(Op::Add, result[i], term);
        }
    }
    return result;
}

constexpr int kStages = 7;
constexpr double kNodes[kStages] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
constexpr double kWeights[kStages][kStages] = {
    {},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
// Of order 5 minus order 4.
constexpr double kErrorWeights[kStages] = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                           -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

}  // namespace

RungeKuttaStep classical_step(Graph& graph, const Rates& rates, const std::vector<int>& x, int t, int h) {
    const int half = graph.apply(Op::Multiply, graph.constant(0.5), h);
    const int sixth = graph.apply(Op::Divide, h, graph.constant(6));
    const int middle = graph.apply(Op::Add, t, half);
    const std::vector<int> k1 = rates(x, t);
    const std::vector<int> k2 = rates(advanced(graph, x, half, k1), middle);
    const std::vector<int> k3 = rates(advanced(graph, x, half, k2), middle);
    const std::vector<int> k4 = rates(advanced(graph, x, h, k3), graph.apply(Op::Add, t, h));
    RungeKuttaStep step;
    const int two = graph.constant(2);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const int outer = graph.apply(Op::Add, k1[i], k4[i]);
        const int inner = graph.apply(Op::Multiply, two, graph.apply(Op::Add, k2[i], k3[i]));
        const int sum = graph.apply(Op::Add, outer, inner);
        step.x.push_back(graph.apply(Op::Add, x[i], graph.apply(Op::Multiply, sixth, sum)));
    }
    return step;
}

RungeKuttaStep dormand_prince_step(Graph& graph, const Rates& rates, const std::vector<int>& x,
                                   const std::vector<int>& k1, int t, int h) {
    std::vector<std::vector<int>> k{k1};
    RungeKuttaStep step;
    for (int stage = 1; stage < kStages; ++stage) {
        step.x = advanced(graph, x, h, weighted(graph, k, kWeights[stage]));
        const int at = graph.apply(Op::Add, t, graph.apply(Op::Multiply, graph.constant(kNodes[stage]), h));
        k.push_back(rates(step.x, at));
    }
    step.rates = k.back();
    for (const int error : weighted(graph, k, kErrorWeights))
        step.errors.push_back(graph.apply(Op::Multiply, h, error));
    return step;
}

}  // namespace voltpile::ode
