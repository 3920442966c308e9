// Whether the installed software serves the GPUs of a node.
#pragma once

#include <string>
#include <vector>

#include "machine/gpu_snapshot.h"
#include "machine/node_check.h"

namespace voltpile {

// program_cuda: the CUDA that this program was built with ("12.4"), or "no". Finds drivers that are too old
// for it and GPUs that it has no code for. Never Bad: other programs may well use them.
std::vector<NodeFinding> check_software(const NodeGpus& node, const std::string& program_cuda);

}  // namespace voltpile
