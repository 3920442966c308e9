// Compares measured figures with theory and with each other.
#pragma once

#include <vector>

#include "health/figure.h"
#include "machine/node_check.h"

namespace voltpile {

// figures[n]: those of node n. Returns the findings of each node: figures below what a healthy device
// reaches, and figures below their peers on all nodes. Of two peers that differ, the slower one is at fault.
std::vector<std::vector<NodeFinding>> judge_figures(const std::vector<std::vector<Figure>>& figures);

}  // namespace voltpile
