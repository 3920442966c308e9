// The devices of a host as a tree: sockets, PCI Express root complexes, switches, GPUs and network adapters.
// `voltpile topo` prints and draws it. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/topology.h"

namespace voltpile {

struct TreeItem {
    enum class Kind { Host, Socket, Root, Switch, Gpu, Nic };
    Kind kind = Kind::Host;
    std::string name;       // "GPU 0", "socket 1"
    std::string detail;     // "Tesla V100-SXM2-16GB, 16 GB, PCIe 3.0 x16"
    std::size_t index = 0;  // of a GPU or network adapter in its Host
    std::vector<TreeItem> children;
};

// Devices whose place is unknown hang from the host.
TreeItem machine_tree(const Host& host);

// Returns the tree with one line for each item.
std::string to_text(const TreeItem& tree);

// Returns the matrix of paths between GPUs, and between GPUs and network adapters, with the cores and the
// NUMA node of each GPU and a legend of the paths that occur. Empty without GPUs.
std::string matrix_text(const Host& host);

// Returns everything that `voltpile topo` prints of a host: tree, matrix and verdict.
std::string topo_text(const Host& host);

}  // namespace voltpile
