// Machine descriptions: data/clusters/*.toml.
#pragma once

#include <string>

#include "plan/topology.h"

namespace voltpile {

// A machine description (data/clusters/*.toml) with `ranks_per_host` ranks on each host (0: one for each GPU,
// or one), every core allowed to all of them. Throws JobError on a malformed file.
Topology load_cluster(const std::string& path, int ranks_per_host);

}  // namespace voltpile
