// Opens a model on all ranks, each through its own file system, and checks that it is the same.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/mpi/communicator.h"
#include "llm/model/model_files.h"

namespace voltpile::llm {

// Opens the model on every rank. Collective. Throws AgreedError, which names the first rank that failed and
// its host if only some ranks failed.
std::unique_ptr<ModelFiles> open_model(const Communicator& world, const std::string& path);

// Compares the model's fingerprint on all ranks. Collective. Throws AgreedError (CannotRun) with the ranks
// that see each model if they differ.
void check_same_model(const Communicator& world, const ModelSource& model);

// Calls `work` on each rank and waits, asleep, until all are done. Collective. If any rank failed, throws
// AgreedError on all ranks, with the first rank that failed and its host unless all failed alike.
void all_do(const Communicator& world, const std::function<void()>& work);

}  // namespace voltpile::llm
