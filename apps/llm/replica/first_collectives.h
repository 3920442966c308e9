// What collectives take of a GPU's memory at their first use (NCCL's buffers for each of its algorithms, room
// for its kernels' local variables), taken before a model is loaded.
#pragma once

#include "llm/model/model_config.h"
#include "llm/replica/replica_plan.h"
#include "run/team_context.h"

namespace voltpile::llm {

// Collective over a tensor-parallel group with GPUs; each rank's is the current one. Waits. Does each kind of
// collective that passes will do, at sizes of powers of two up to their largest: NCCL connects for an
// algorithm when a size first asks for it. Throws CommError if a peer is lost.
void do_first_collectives(const TeamContext& teams, const ModelConfig& config, const ReplicaRequest& request);

}  // namespace voltpile::llm
