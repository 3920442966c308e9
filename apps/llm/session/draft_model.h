// What guesses tokens ahead for a model: a small model, an EAGLE 3 head, or the model's own prediction layer.
#pragma once

#include <memory>

#include "llm/replica/replica_plan.h"
#include "llm/session/language_model.h"

namespace voltpile::llm {

// Opens a draft model, or an EAGLE 3 head if choice.path is one, and lets the replicas of `request` guess
// with it; request.context may be set later. The draft model must outlive the replicas. world: all ranks
// call; nullptr: one process without MPI. Throws as LanguageModel and ModelFiles::eagle_head() do, and
// JobError if a draft model has another vocabulary.
std::unique_ptr<LanguageModel> open_draft(const Communicator* world, const ModelChoice& choice,
                                          const LanguageModel& model, ReplicaRequest& request);

// Opens the prediction layers for Speculate::Mtp and lets the replicas of `request` guess with them;
// otherwise does nothing. The model must outlive the replicas. world: as above. Throws JobError for a model
// without any, and FileError if their tensors are not complete.
void open_prediction_layers(const Communicator* world, const LanguageModel& model, ReplicaRequest& request);

// Throws JobError if tokens of the draft model stand for other texts than those of the model.
void check_draft_vocabulary(const LanguageModel& draft, const LanguageModel& model);

}  // namespace voltpile::llm
