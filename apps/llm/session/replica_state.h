// What a server shows of its replicas.
#pragma once

#include <span>

#include "llm/engine/counters.h"

namespace voltpile::llm {

struct ReplicaState {
    EngineCounters counters;  // those of other ranks are up to a tenth of a second old
    bool works = true;
};

// Counters of all replicas together; largest_batch is that of the replica with the largest.
EngineCounters sum_of(std::span<const ReplicaState> replicas);

}  // namespace voltpile::llm
