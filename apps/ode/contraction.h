// Rewrites expressions so that fewer instructions compute them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ode/graph.h"

namespace voltpile::ode {

// Returns expressions of the same value but for rounding:
// - signs move out of products and into sums, so that x - y and y - x are computed once;
// - a product that only sums read becomes part of each of them, as a fused multiply-add, which rounds once.
// All processors get the same expressions and therefore the same bits.
// moves: whether a symbol changes from step to step. Products of others are computed once for each point, so
// they remain. A difference of two products remains as it is where it is the argument of a root, a logarithm
// or a power: there equal products must cancel. Products with floor(x) are not fused, for the sake of mod.
std::vector<int> contracted(Graph& graph, std::span<const int> roots,
                            const std::function<bool(int symbol)>& moves);

}  // namespace voltpile::ode
