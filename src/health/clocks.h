// Compares the clocks of the nodes. Files that seem to come from the future confuse builds, locks and logs.
#pragma once

#include <optional>
#include <vector>

#include "comm/mpi/communicator.h"
#include "machine/node_check.h"

namespace voltpile {

struct ClockOffset {
    double offset_s = 0;       // ahead of the median of all ranks
    double uncertainty_s = 0;  // the messages took this long
};

// Collective: every rank calls. Returns the offset of this rank's clock.
ClockOffset compare_clocks(const Communicator& world);

// Returns a finding if the clock is off by more than a second, whatever the messages took.
std::optional<NodeFinding> judge_clock(const ClockOffset& clock);

}  // namespace voltpile
