// How the devices of a host reach each other. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/topology.h"

namespace voltpile {

// From near to far. The comments name what `nvidia-smi topo -m` prints.
enum class PathKind {
    NvLink,         // NV1, NV2, ...
    SameSwitch,     // PIX, PXB: through PCI Express switches only
    SameRoot,       // PHB: through one root complex
    SameSocket,     // NODE: from one root complex of a socket to another
    AcrossSockets,  // SYS
    Unknown,        // the description does not say
};

struct DevicePath {
    PathKind kind = PathKind::Unknown;
    int nvlinks = 0;  // of PathKind::NvLink; 0: the number is unknown
    bool operator==(const DevicePath&) const = default;

    // Data goes from device to device: no processor and no memory of the host is in between.
    bool direct() const { return kind <= PathKind::SameRoot; }
};

DevicePath gpu_path(const Host& host, std::size_t a, std::size_t b);
DevicePath gpu_nic_path(const Host& host, std::size_t gpu, std::size_t nic);

// The path over PCI Express, also of GPUs with NVLink.
PathKind pcie_path(const Host& host, const PciePlace& a, const PciePlace& b);

// "NV2", "switch", "root", "socket", "cross", "?": a cell of a matrix.
std::string short_text(const DevicePath& path);

// "2 NVLinks", "a PCIe switch", "one root complex", "one socket", "both sockets".
std::string long_text(const DevicePath& path);

// Returns the root complex above a node of Host::pcie, -1 for -1.
int root_of(const Host& host, int node);

// Returns the network adapters nearest to a GPU: the fastest of those with the nearest path. RDMA devices go
// before network interfaces. Empty if the host has none or their paths are unknown.
std::vector<std::size_t> nearest_nics(const Host& host, std::size_t gpu);

}  // namespace voltpile
