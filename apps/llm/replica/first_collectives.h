// Makes collectives allocate their GPU memory before a model is loaded: NCCL's buffers for each of its
// algorithms, and room for the local variables of its kernels.
#pragma once

#include "llm/model/model_config.h"
#include "llm/replica/replica_plan.h"
#include "run/team_context.h"

namespace voltpile::llm {

// Runs each kind of collective that passes use, at powers of two up to their largest size, because NCCL
// connects for an algorithm when a size first needs it. Waits for them. Collective over a tensor-parallel
// group with GPUs, each rank's being its current device. Throws CommError if a peer is lost.
void do_first_collectives(const TeamContext& teams, const ModelConfig& config, const ReplicaPlan& plan);

}  // namespace voltpile::llm
