// What a plan says of a replica's memory and speed.
#pragma once

#include <cstdint>

#include "llm/replica/replica_room.h"

namespace voltpile::llm {

// Adds the bytes that each rank takes, the estimated speed and time, and the formulas behind them. Ranks
// without a GPU keep weights, cache and activations in host memory. The plan must have its stages and pages.
// points: the job's number of points, or 0 without a job. config and weights describe the model.
void add_estimates(ReplicaPlan& plan, std::int64_t points, const ReplicaRoom& room, const ModelConfig& config,
                   const WeightBytes& weights);

}  // namespace voltpile::llm
