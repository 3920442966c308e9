// Measures the time of each operation in a pass.
#pragma once

#include <map>
#include <string>

#include "llm/replica/replica.h"

namespace voltpile::llm {

// Returns the seconds of each operation of a pass on this rank, from the fastest of several replays.
// Collective over the team. A mark follows each operation in the recorded pass; on GPUs it is an event, which
// costs about as much as a small kernel. batch: with one row of logits for each sequence.
std::map<std::string, double> profile_pass(Replica& replica, const Batch& batch);

}  // namespace voltpile::llm
