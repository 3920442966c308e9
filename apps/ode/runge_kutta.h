// One step of a Runge-Kutta method as expressions.
#pragma once

#include <functional>
#include <vector>

#include "ode/graph.h"

namespace voltpile::ode {

// Returns the nodes of the rates for nodes of the states and of the time.
using Rates = std::function<std::vector<int>(const std::vector<int>& x, int t)>;

struct RungeKuttaStep {
    std::vector<int> x;       // after the step
    std::vector<int> rates;   // there; adaptive only
    std::vector<int> errors;  // estimated error of each state; adaptive only
};

// The classical method of order 4: x + h/6 ((k1 + k4) + 2 (k2 + k3)).
RungeKuttaStep classical_step(Graph& graph, const Rates& rates, const std::vector<int>& x, int t, int h);

// J. R. Dormand and P. J. Prince, J. Comput. Appl. Math. 6, 19 (1980): order 5, with an error estimate of
// order 4 from 7 stages. k1: the rates before the step.
RungeKuttaStep dormand_prince_step(Graph& graph, const Rates& rates, const std::vector<int>& x,
                                   const std::vector<int>& k1, int t, int h);

}  // namespace voltpile::ode
