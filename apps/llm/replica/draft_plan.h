// Plans a model together with what guesses for it, over the same ranks: a draft model, its prediction layer
// or an EAGLE 3 head. A draft model may have ranks of its own.
#pragma once

#include "llm/replica/replica_plan.h"

namespace voltpile::llm {

// Plans as plan_replica() does for a request with a draft: both models with the same cut, in memory together,
// over the fewest pipeline stages that hold them, or as many as `request` says. Both caches get about the
// same number of tokens. Throws as plan_replica() does, and JobError if the draft cannot be cut in the same
// manner. Prediction layers and an EAGLE 3 head are on the last stage.
//
// With request.draft_ranks, the last ranks of the world hold the draft model, cut as suits it, and the others
// hold the model. There is one copy of each. Throws JobError for more copies, or if what guesses is a part of
// the model, and MachineError if no rank is left for the model.
ReplicaPlan plan_with_draft(const ModelSource& model, const ReplicaRequest& request, const Topology& topology,
                            const Workload& work);

}  // namespace voltpile::llm
