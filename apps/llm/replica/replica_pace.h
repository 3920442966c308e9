// Estimates how fast a planned replica generates: a roofline over memory, tensor cores and links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/replica/replica_plan.h"

namespace voltpile::llm {

// Tokens per second of one replica with short sequences. 0: the bandwidth of some GPU is unknown, or the
// replica computes on cores.
struct ReplicaPace {
    double one_sequence = 0;
    double all_sequences = 0;  // with ReplicaRequest::sequences at once
    int slowest_rank = -1;     // of the stage that takes the longest
    std::vector<std::string> formulas;
};

// weights: the number of the model's weights.
ReplicaPace estimate_pace(const ReplicaPlan& replica, std::uint64_t weights);

}  // namespace voltpile::llm
