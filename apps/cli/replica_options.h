// The options that all commands which run a model share.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "llm/replica/replica_plan.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voltpile::cli {

// Adds MODEL, a path.
CLI::Option* add_model_option(CLI::App& command, std::string& path);

// Adds --tensor, --pipeline, --cpu, --ranks-per-node, --cache, --experts-on-host, --batch-invariant and
// --clamp. `request` must outlive the parser.
void add_team_options(CLI::App& command, llm::ReplicaRequest& request);

// Adds these and --context; request.context stays 0 if the option is not given.
void add_replica_options(CLI::App& command, llm::ReplicaRequest& request);

// Adds --speculate, --draft and --draft-tokens. draft: the path of the draft model. `request` and `draft`
// must outlive the parser.
void add_speculate_options(CLI::App& command, llm::ReplicaRequest& request, std::string& draft);
CLI::Option* add_draft_option(CLI::App& command, std::string& draft);

// Adds the options of these fields of llm/replica/replica_fields.h: "rows" adds --rows. `request` must
// outlive the parser.
void add_replica_fields(CLI::App& command, llm::ReplicaRequest& request,
                        std::initializer_list<std::string_view> names);

}  // namespace voltpile::cli
