// What a plan says of a replica's memory and speed.
#pragma once

#include <cstdint>

#include "llm/replica/replica_room.h"

namespace voltpile::llm {

// Adds the bytes that each rank takes, the estimated speed and time, and how they come about. Ranks without a
// GPU hold weights, cache and activations in host memory. plan: with stages and pages. points: of the job, 0
// if there is none. weights: of the model.
void add_estimates(ReplicaPlan& plan, std::int64_t points, const ReplicaRoom& room, const ModelConfig& config,
                   const WeightBytes& weights);

}  // namespace voltpile::llm
