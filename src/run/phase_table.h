// The phases of ranks as a table for people.
#pragma once

#include <string>
#include <vector>

#include "run/stall_judge.h"

namespace voltpile {

struct PhaseTableRank {
    std::string name;                    // "rank 2 on node1, GPU 1 (Tesla V100-SXM2-16GB)"
    const RankPhases* phases = nullptr;  // nullptr: the rank has said nothing
};

// Returns one line for each phase that a rank has been in: threads in it now, steps so far, and how long ago
// the thread that has not moved for longest last moved.
std::string phase_table(const std::vector<PhaseTableRank>& ranks, double now_s);

}  // namespace voltpile
