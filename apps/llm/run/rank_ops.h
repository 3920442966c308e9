// The operations on what the plan gives a rank: its GPU, or its cores.
#pragma once

#include <memory>

#include "device/stream.h"
#include "llm/ops/ops.h"
#include "plan/plan.h"

namespace voltpile::llm {

struct RankOps {
    std::unique_ptr<Ops> ops;
    const Stream* stream = nullptr;  // of ops; nullptr: they work on the host
};

// Keeps the calling thread, and those it starts from now on (NCCL's, channels'), to the rank's cores.
void bind_to_cores(const Plan& plan, int world_rank);

// Makes the rank's GPU the calling thread's current one, or binds the thread to the first of the rank's
// cores. DeviceError.
RankOps make_rank_ops(const Plan& plan, int world_rank);

}  // namespace voltpile::llm
