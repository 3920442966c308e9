// Over which ranks two models are spread that are in memory together, decided before anything is loaded.
// Pure.
#pragma once

#include "llm/replica/replica_plan.h"

namespace voltpile::llm {

struct EvalPlans {
    ReplicaPlan reference;  // with a cache of fp16
    ReplicaPlan model;      // cut alike, in what the reference leaves
};

// With as few stages as hold both, unless `request` says how many. Throws as plan_replica().
EvalPlans plan_both(const ModelSource& model, const ModelSource& reference, const ReplicaRequest& request,
                    const Topology& topology);

}  // namespace voltpile::llm
