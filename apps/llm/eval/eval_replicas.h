// A text scored by a model, or by two, over the ranks of a team.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "llm/eval/score_text.h"
#include "llm/replica/replica.h"

namespace voltpile::llm {

struct EvalRun {
    TextScores scores;
    std::int64_t tokens = 0;  // processed by the model, those that are only context included
    double seconds = 0;       // for both models together
    std::string where;        // Replica::describe() of the model
};

// Collective over the world. reference: may be nullptr; plan_both() says how both are spread. The request's
// context is the longest window, its logits the rows of a pass. told: on the replica's leader. Throws as
// with_replica(), and AgreedError for what plan_both() refuses.
void evaluate_on_replicas(const MpiSession& session, const ModelSource& model, const ModelSource* reference,
                          const ReplicaRequest& request, std::span<const EvalWindow> windows,
                          const std::function<void(const EvalRun&)>& told);

}  // namespace voltpile::llm
