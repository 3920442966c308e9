// The operations on what the plan gives a rank: its GPU, or its cores.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/stream.h"
#include "llm/ops/ops.h"
#include "llm/replica/replica_plan.h"
#include "plan/plan.h"

namespace voltpile::llm {

// The logical processors of a rank's cores, one each.
std::vector<int> pus_of(const Plan& plan, int world_rank);

struct RankOps {
    std::unique_ptr<Ops> ops;
    const Stream* stream = nullptr;  // of ops; nullptr: they work on the host
};

// Keeps the calling thread, and those it starts from now on (NCCL's, channels'), to the rank's cores.
void bind_to_cores(const Plan& plan, int world_rank);

// Makes the rank's GPU the calling thread's current one, or binds the thread to the first of the rank's
// cores. weight_bytes: to be loaded, as planned; a GPU takes them at once. DeviceError.
RankOps make_rank_ops(const Plan& plan, int world_rank, std::uint64_t weight_bytes,
                      const ReplicaRequest& request);

}  // namespace voltpile::llm
