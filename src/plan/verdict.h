// Says in sentences what the wiring of a host is good for. Pure.
#pragma once

#include <string>
#include <vector>

#include "plan/topology.h"

namespace voltpile {

struct MachineVerdict {
    // Pairs of GPUs by how they talk: "GPU 0, 1, 2 and 3 talk directly over 2 NVLinks".
    std::vector<std::string> pairs;
    // GPUs without a network adapter under their root complex, by GPU.
    std::vector<std::size_t> without_nic;
    std::vector<std::string> network;
    std::vector<std::string> cores;   // "GPU 0 and 1: cores 0-9 (socket 0)"
    std::vector<std::string> narrow;  // links with fewer lanes, or slower ones, than their slot
    // Pairs of GPUs that reach each other directly, of all pairs.
    int direct_pairs = 0;
    int all_pairs = 0;

    std::vector<std::string> sentences() const;
};

MachineVerdict judge(const Host& host);

// Returns the cores (indices into Host::cores) of the GPU's NUMA node; all of its socket's if the node has
// none; all of the host's if the GPU's place is unknown.
std::vector<int> cores_of_gpu(const Host& host, std::size_t gpu);

// "0-3, 7": numbers in ascending order.
std::string ranges_text(const std::vector<int>& numbers);

}  // namespace voltpile
