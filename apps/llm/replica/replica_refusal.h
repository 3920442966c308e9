// Why a model does not fit into the memory of the ranks, and what would.
#pragma once

#include <optional>

#include "llm/replica/replica_room.h"

namespace voltpile::llm {

// Throws MachineError. plan: the plan with the most ranks of those that do not fit. all_on_host: the same cut
// with all experts in host memory, if the plan might have chosen so. weights: of the model.
[[noreturn]] void refuse(const ReplicaPlan& plan, const std::optional<ReplicaPlan>& all_on_host,
                         const ReplicaRoom& room, const ModelConfig& config, const WeightBytes& weights);

}  // namespace voltpile::llm
