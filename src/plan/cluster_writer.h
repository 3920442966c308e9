// Writes machine descriptions that load_cluster() reads.
#pragma once

#include <string>

#include "plan/topology.h"

namespace voltpile {

// Returns the description of one host as TOML. Leaves out what is unknown, and what descriptions do not hold:
// the transport, bus ids and the threads of cores.
std::string cluster_text(const Host& host);

}  // namespace voltpile
