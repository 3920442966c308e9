// Where the time of a pass goes, operation by operation.
#pragma once

#include <map>
#include <string>

#include "llm/replica/replica.h"

namespace voltpile::llm {

// Collective over the team. Seconds of each operation of one pass on this rank: the fastest of several
// replays of the recorded pass, in which each operation is followed by a mark (on GPUs an event, which costs
// about as much as a small kernel). batch: with one row of logits for each sequence.
std::map<std::string, double> profile_pass(Replica& replica, const Batch& batch);

}  // namespace voltpile::llm
