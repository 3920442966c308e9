// Plans over which ranks two models are spread that are in memory together, before anything is loaded.
#pragma once

#include "llm/replica/replica_plan.h"

namespace voltpile::llm {

struct EvalPlans {
    ReplicaPlan reference;  // with an fp16 cache, or fp32 if the model has it
    ReplicaPlan model;      // with the same cut, in the room that the reference leaves
};

// Plans both models with the fewest pipeline stages that hold them, or as many as `request` says. Throws as
// plan_replica() does.
EvalPlans plan_both(const ModelSource& model, const ModelSource& reference, const ReplicaRequest& request,
                    const Topology& topology);

}  // namespace voltpile::llm
