// Experts in host memory in the plan of a replica.
#pragma once

#include <string>
#include <vector>

#include "llm/replica/replica_plan.h"

namespace voltpile::llm {

// Returns the most layers that may keep their experts in host memory: those with experts, or 0 for an odd
// hidden size.
int most_experts_on_host(const ModelConfig& config);

// Throws JobError if the request keeps the experts of more layers in host memory than may be there.
void check_experts_on_host(const ModelConfig& config, const ReplicaRequest& request);

// Returns the cores, as indices into Host::cores, that compute experts in host memory for a rank with a GPU:
// the rank's own but for the first, which the thread that waits for the GPU keeps busy, and an equal share of
// the cores of the host that no rank has and that it may use.
std::vector<int> expert_cores(const Plan& plan, int rank);

// Returns the bytes of host memory that the experts take on a rank with a GPU in this stage: their weights
// and the memory of passes; 0 if all experts of the stage are on the GPU.
std::uint64_t host_expert_bytes(const ReplicaPlan& plan, std::size_t stage);

// Says which host has too little memory for the experts there, beside what ranks need anyway; empty if none.
std::string host_memory_obstacle(const ReplicaPlan& plan);

// Describes the layers, their memory and their cores, for the notes of a plan; empty without experts in host
// memory.
std::string experts_on_host_text(const ReplicaPlan& plan, const ModelConfig& config);

}  // namespace voltpile::llm
