// Measures how fast CPU cores compute the published map.
#pragma once

#include <vector>

#include "threebody/cpu_targets.h"
#include "threebody/problem.h"
#include "work/work_range.h"

namespace voltpile::threebody {

struct CpuSweepTime {
    double pair_steps = 0;
    double seconds = 0;
    double rate() const { return pair_steps / seconds; }
};

// Computes the points with one thread on each of `pus`. progress: prints the done part on stderr after every
// twentieth of the points.
CpuSweepTime time_cpu_sweep(const Problem& problem, const CpuTarget& target, const std::vector<int>& pus,
                            WorkRange points, bool progress = false);

// Returns the hardware threads that this process may use, by the operating system's index.
std::vector<int> usable_pus();

// Returns pair-steps per second of one of `pus` while all compute: the best of several samples of the
// published map with this method.
double measure_core_rate(Method method, bool single_precision, const std::vector<int>& pus);

}  // namespace voltpile::threebody
