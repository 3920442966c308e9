// Creates the operations of a rank, on the GPU or the cores that the plan gives it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/stream.h"
#include "llm/ops/ops.h"
#include "llm/replica/replica_plan.h"
#include "plan/plan.h"

namespace voltpile::llm {

// Returns one logical processor for each of a rank's cores.
std::vector<int> pus_of(const Plan& plan, int world_rank);

struct RankOps {
    std::unique_ptr<Ops> ops;
    const Stream* stream = nullptr;  // of ops; nullptr if they work on the host
};

// Binds the calling thread, and so the threads it starts later (NCCL's, channels'), to the rank's cores.
void bind_to_cores(const Plan& plan, int world_rank);

// Creates the operations. Makes the rank's GPU the calling thread's current device, or binds the thread to
// the first of the rank's cores. stage: with the planned sizes of weights and their copies, which a GPU
// allocates at once. Throws DeviceError.
RankOps make_rank_ops(const Plan& plan, int world_rank, const StageNeeds& stage,
                      const ReplicaRequest& request);

}  // namespace voltpile::llm
