// Checks that all ranks have the same model, and lets them fail together.
#pragma once

#include <functional>

#include "comm/mpi/communicator.h"
#include "llm/model/model_source.h"

namespace voltpile::llm {

// Compares the model's fingerprint on all ranks. Collective. Throws AgreedError (CannotRun) with the ranks
// that see each model if they differ.
void check_same_model(const Communicator& world, const ModelSource& model);

// Calls `work` on each rank and waits, asleep, until all are done. Collective. If any rank failed, throws
// AgreedError on all ranks, with the first rank that failed and its host unless all failed alike.
void all_do(const Communicator& world, const std::function<void()>& work);

}  // namespace voltpile::llm
