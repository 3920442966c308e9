// Measures a node in a process of its own, because a call into a hung driver never returns.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/process.h"
#include "health/figure.h"
#include "machine/node_check.h"

namespace voltpile {

struct NodeFigures {
    std::vector<Figure> figures;
    std::vector<NodeFinding> findings;      // devices that failed or hung while they were measured
    std::vector<std::string> not_measured;  // and why: "GPU 2 (0000:3a:00.0): in use (93 % busy)"
};

inline constexpr std::chrono::seconds kMeasuringDeadline{50};

// How the names of what belongs to the host begin: "NUMA node 0 (8 cores): its memory".
inline constexpr const char* kHostPlace = "NUMA node ";

// Runs run_measuring() through `command`, which is this program with the arguments that lead there. Never
// throws for what the machine does or lacks. Takes at most the deadline and four seconds.
NodeFigures measure_node(std::vector<std::string> command,
                         std::chrono::milliseconds deadline = kMeasuringDeadline);

// Reads what a process with run_measuring() has written and how it ended.
NodeFigures figures_of_process(const ProcessResult& result, std::chrono::milliseconds deadline);

}  // namespace voltpile
