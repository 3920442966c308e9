// The options of all commands that run a model: on which ranks, and how large.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "llm/replica/replica_plan.h"

namespace voltpile::cli {

// MODEL: a path.
CLI::Option* add_model_option(CLI::App& command, std::string& path);

// --tensor, --pipeline, --cpu, --ranks-per-node, --cache, --batch-invariant and --clamp.
void add_team_options(CLI::App& command, llm::ReplicaRequest& request);

// These and --context, which stays 0 if it is not given.
void add_replica_options(CLI::App& command, llm::ReplicaRequest& request);

}  // namespace voltpile::cli
