// A node of a running job as Prometheus text.
#pragma once

#include <string>

#include "run/live_status.h"

namespace voltpile {

// job: of rank 0; without ranks on other nodes.
std::string node_metrics(const LiveNode& node, const LiveJob& job);

}  // namespace voltpile
