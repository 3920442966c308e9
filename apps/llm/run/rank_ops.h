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

// Binds the calling thread to the first of the rank's cores, or makes its GPU the thread's current one.
// DeviceError.
RankOps make_rank_ops(const Plan& plan, int world_rank);

}  // namespace voltpile::llm
