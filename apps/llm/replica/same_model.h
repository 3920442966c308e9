// All ranks of a job have to see the same model, each through its own file system.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/mpi/communicator.h"
#include "llm/model/model_files.h"

namespace voltpile::llm {

// Collective: every rank opens the model. Throws AgreedError; where only some ranks cannot, it names the
// first of them and its host.
std::unique_ptr<ModelFiles> open_model(const Communicator& world, const std::string& path);

// Collective. Throws AgreedError (CannotRun) on all ranks, with who sees which, if their models differ.
void check_same_model(const Communicator& world, const ModelSource& model);

// Collective: each rank does its bit, which may take long; those that are done sleep. Throws AgreedError on
// all if one failed, which then says which rank, and its host.
void all_do(const Communicator& world, const std::function<void()>& work);

}  // namespace voltpile::llm
