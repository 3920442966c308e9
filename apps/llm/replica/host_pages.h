// Plans the host memory for pages that the KV cache has no room for.
#pragma once

#include "llm/replica/replica_plan.h"

namespace voltpile::llm {

// Adds the pages of request.host_cache_tokens and their memory to a plan. Throws MachineError if a host has
// too little memory for its ranks.
ReplicaPlan with_host_pages(ReplicaPlan plan);

}  // namespace voltpile::llm
