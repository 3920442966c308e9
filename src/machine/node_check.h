// What is wrong with a node, and what its owner can do about it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "machine/gpu_snapshot.h"

namespace voltpile {

enum class Health { Ok, Degraded, Bad };

struct NodeFinding {
    Health health = Health::Degraded;  // Bad: jobs fail on this node
    std::string text;                  // "GPU 2 (0000:3a:00.0): 4 of 6 NVLinks are up"
    std::string advice;                // "reseat the module ..."
};

// Compares the GPUs with what they can do and with each other, and the node with what jobs need. sys: "/sys"
// or a copy of it.
std::vector<NodeFinding> check_node(const NodeGpus& node, const std::filesystem::path& sys = "/sys");

// The worst of them; Ok for none.
Health verdict(const std::vector<NodeFinding>& findings);

const char* name_of(Health health);  // "ok", "degraded", "bad"

}  // namespace voltpile
