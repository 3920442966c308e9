// Everything that `voltpile check` does on one node.
#pragma once

#include <string>
#include <vector>

#include "base/kernel_files.h"
#include "health/node_report.h"
#include "machine/gpu_snapshot.h"

namespace voltpile {

struct NodeCheckRequest {
    bool measure = false;  // also measure the node, for at most a minute
    std::string sys = sys_folder().string();
    std::string kernel_log;            // a file; empty: of this node
    std::vector<std::string> folders;  // whose disks must have room; empty: the current one and its results
};

struct CheckedNode {
    NodeReport report;
    NodeGpus gpus;  // as the driver sees them
};

// Restores the GPUs' limits and clocks that a killed run has changed, then checks this node. Throws FileError
// if it cannot read request.kernel_log.
CheckedNode check_this_node(const NodeCheckRequest& request);

}  // namespace voltpile
