#include "plan/device_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace voltpile {
namespace {

const PcieNode& node_at(const Host& host, int node) {
    return host.pcie[static_cast<std::size_t>(node)];
}

// The nodes above a device, the nearest first; the last one is a root complex.
std::vector<int> nodes_above(const Host& host, int node) {
    std::vector<int> above;
    for (; node >= 0; node = node_at(host, node).parent) above.push_back(node);
    return above;
}

PathKind between_numa_nodes(const Host& host, int a, int b) {
    if (a < 0 || b < 0) return PathKind::Unknown;
    return host.socket(a) == host.socket(b) ? PathKind::SameSocket : PathKind::AcrossSockets;
}

}  // namespace

int root_of(const Host& host, int node) {
    while (node >= 0 && node_at(host, node).parent >= 0) node = node_at(host, node).parent;
    return node;
}

PathKind pcie_path(const Host& host, const PciePlace& a, const PciePlace& b) {
    if (a.node < 0 || b.node < 0) return between_numa_nodes(host, a.numa_node, b.numa_node);
    const std::vector<int> above = nodes_above(host, a.node);
    for (int node = b.node; node >= 0; node = node_at(host, node).parent)
        if (std::ranges::find(above, node) != above.end())
            return node_at(host, node).is_root() ? PathKind::SameRoot : PathKind::SameSwitch;
    return between_numa_nodes(host, a.numa_node, b.numa_node);
}

DevicePath gpu_path(const Host& host, std::size_t a, std::size_t b) {
    if (a < host.nvlinks.size() && host.nvlinks[a][b] > 0) return {PathKind::NvLink, host.nvlinks[a][b]};
    const Gpu &one = host.gpus[a], &other = host.gpus[b];
    if (one.nvlink_island >= 0 && one.nvlink_island == other.nvlink_island) return {PathKind::NvLink, 0};
    return {pcie_path(host, one.place, other.place), 0};
}

DevicePath gpu_nic_path(const Host& host, std::size_t gpu, std::size_t nic) {
    return {pcie_path(host, host.gpus[gpu].place, host.nics[nic].place), 0};
}

std::string short_text(const DevicePath& path) {
    switch (path.kind) {
        case PathKind::NvLink:
            return path.nvlinks > 0 ? fmt::format("NV{}", path.nvlinks) : "NV";
        case PathKind::SameSwitch:
            return "switch";
        case PathKind::SameRoot:
            return "root";
        case PathKind::SameSocket:
            return "socket";
        case PathKind::AcrossSockets:
            return "cross";
        case PathKind::Unknown:
            break;
    }
    return "?";
}

std::string long_text(const DevicePath& path) {
    switch (path.kind) {
        case PathKind::NvLink:
            return path.nvlinks == 0 ? "NVLink"
                                     : fmt::format("{} NVLink{}", path.nvlinks, path.nvlinks == 1 ? "" : "s");
        case PathKind::SameSwitch:
            return "a PCIe switch";
        case PathKind::SameRoot:
            return "one root complex";
        case PathKind::SameSocket:
            return "two root complexes of one socket";
        case PathKind::AcrossSockets:
            return "the link between the sockets";
        case PathKind::Unknown:
            break;
    }
    return "an unknown path";
}

std::vector<std::size_t> nearest_nics(const Host& host, std::size_t gpu) {
    using Distance = std::tuple<bool, PathKind, double>;
    const auto distance = [&](std::size_t nic) {
        return Distance{!host.nics[nic].rdma, gpu_nic_path(host, gpu, nic).kind, -host.nics[nic].gbit_per_s};
    };
    std::vector<std::size_t> nearest;
    for (std::size_t nic = 0; nic < host.nics.size(); ++nic) {
        if (gpu_nic_path(host, gpu, nic).kind == PathKind::Unknown) continue;
        if (!nearest.empty() && distance(nic) < distance(nearest.front())) nearest.clear();
        if (nearest.empty() || distance(nic) == distance(nearest.front())) nearest.push_back(nic);
    }
    return nearest;
}

}  // namespace voltpile
