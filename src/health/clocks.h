// Compares the clocks of the nodes. Files that seem to come from the future confuse builds, locks and logs.
#pragma once

#include <optional>
#include <vector>

#include "comm/mpi/communicator.h"
#include "machine/node_check.h"

namespace voltpile {

struct ClockOffset {
    double offset_s = 0;       // ahead of the median of all ranks
    double uncertainty_s = 0;  // the true offset is within this of it
};

// Collective: every rank calls. Rank 0 asks each rank for its time and takes the answer with the shortest
// round trip, which bounds the error (Cristian's method). Returns the offset of this rank's clock.
ClockOffset compare_clocks(const Communicator& world);

// Returns a finding if the clock is off by more than a second, whatever the messages took.
std::optional<NodeFinding> judge_clock(const ClockOffset& clock);

}  // namespace voltpile
