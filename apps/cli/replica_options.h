// The options that all commands which run a model share.
#pragma once

#include <string>

#include "llm/replica/replica_plan.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voltpile::cli {

// Adds MODEL, a path.
CLI::Option* add_model_option(CLI::App& command, std::string& path);

// Adds --tensor, --pipeline, --cpu, --ranks-per-node, --cache, --batch-invariant and --clamp. `request` must
// outlive the parser.
void add_team_options(CLI::App& command, llm::ReplicaRequest& request);

// Adds these and --context; request.context stays 0 if the option is not given.
void add_replica_options(CLI::App& command, llm::ReplicaRequest& request);

}  // namespace voltpile::cli
