// Scores a text with one or two models over the ranks of a team.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "llm/eval/score_text.h"
#include "llm/replica/replica.h"

namespace voltpile::llm {

struct EvalRun {
    TextScores scores;
    std::int64_t tokens = 0;  // processed by the model, including those that are only context
    double seconds = 0;       // for both models together
    std::string where;        // Replica::describe() of the model
};

// Scores the windows and calls `done` with the result on the replica's leader. Collective over the world.
// reference: may be nullptr; plan_both() spreads both models. request: its context is the longest window, its
// logits the rows of a pass. Throws as with_replica() does, and AgreedError for what plan_both() refuses.
void evaluate_on_replicas(const MpiSession& session, const ModelSource& model, const ModelSource* reference,
                          const ReplicaRequest& request, std::span<const EvalWindow> windows,
                          const std::function<void(const EvalRun&)>& done);

}  // namespace voltpile::llm
