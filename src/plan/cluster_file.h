// Machine descriptions: data/clusters/*.toml.
#pragma once

#include <string>

#include "plan/topology.h"

namespace voltpile {

// Reads a machine description. Puts `ranks_per_host` ranks on each host (0: one for each GPU, at least one),
// each of which may use all cores. Throws JobError `file:line: message` for a malformed file and for counts
// beyond any cluster.
Topology load_cluster(const std::string& path, int ranks_per_host);

}  // namespace voltpile
