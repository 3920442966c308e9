// Reads a node's Prometheus text back, for `voltpile top` on nodes whose folders it does not see.
#pragma once

#include <string>

#include "run/live_status.h"

namespace voltpile {

struct NodeMetrics {
    LiveNode node;
    LiveJob job;  // without ranks on nodes other than that of rank 0; processors are unknown
};

// Reads what node_metrics() wrote. Ignores other metrics. Throws CommError if the text has no
// metrics of a node.
NodeMetrics read_node_metrics(const std::string& text);

}  // namespace voltpile
