#include "plan/machine_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/format.h"
#include "plan/device_paths.h"
#include "plan/verdict.h"

namespace voltpile {
namespace {

// Joins the parts that are not empty.
std::string joined(std::vector<std::string> parts) {
    std::erase(parts, "");
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string slot_text(const PciePlace& place) {
    std::string text = to_text(place.link);
    if (place.slot.lanes > place.link.lanes && place.link.lanes > 0)
        text += fmt::format(" in an x{} slot", place.slot.lanes);
    return text;
}

std::string memory_text(std::int64_t bytes) {
    return bytes > 0 ? bytes_text(static_cast<double>(bytes)) : "";
}

TreeItem gpu_item(const Host& host, std::size_t g) {
    const Gpu& gpu = host.gpus[g];
    return {TreeItem::Kind::Gpu,
            fmt::format("GPU {}", g),
            joined({gpu.name, memory_text(gpu.memory_bytes), slot_text(gpu.place), gpu.place.bus_id}),
            g,
            {}};
}

TreeItem nic_item(const Host& host, std::size_t n) {
    const Nic& nic = host.nics[n];
    const std::string speed = nic.gbit_per_s > 0 ? fmt::format("{:g} Gb/s", nic.gbit_per_s) : "";
    return {TreeItem::Kind::Nic,
            fmt::format("NIC {}", nic.name),
            joined({speed, nic.rdma ? "RDMA" : "", slot_text(nic.place), nic.place.bus_id}),
            n,
            {}};
}

// Adds the devices for whose place `here` is true.
template <class Here>
void add_devices(const Host& host, TreeItem& item, const Here& here) {
    for (std::size_t g = 0; g < host.gpus.size(); ++g)
        if (here(host.gpus[g].place)) item.children.push_back(gpu_item(host, g));
    for (std::size_t n = 0; n < host.nics.size(); ++n)
        if (here(host.nics[n].place)) item.children.push_back(nic_item(host, n));
}

TreeItem node_item(const Host& host, int index) {
    const PcieNode& node = host.pcie[static_cast<std::size_t>(index)];
    TreeItem item{node.is_root() ? TreeItem::Kind::Root : TreeItem::Kind::Switch,
                  fmt::format("{} {}", node.is_root() ? "root complex" : "switch", node.name),
                  to_text(node.uplink),
                  0,
                  {}};
    for (std::size_t child = 0; child < host.pcie.size(); ++child)
        if (host.pcie[child].parent == index)
            item.children.push_back(node_item(host, static_cast<int>(child)));
    add_devices(host, item, [&](const PciePlace& place) { return place.node == index; });
    return item;
}

TreeItem socket_item(const Host& host, int socket) {
    std::vector<int> cores, nodes;
    for (std::size_t c = 0; c < host.cores.size(); ++c) {
        const int node = host.cores[c].numa_node;
        if (host.socket(node) != socket) continue;
        cores.push_back(static_cast<int>(c));
        if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
    }
    TreeItem item{TreeItem::Kind::Socket,
                  fmt::format("socket {}", socket),
                  joined({cores.empty() ? "" : "cores " + ranges_text(cores),
                          nodes.size() > 1 ? "NUMA nodes " + ranges_text(nodes) : ""}),
                  0,
                  {}};
    for (std::size_t i = 0; i < host.pcie.size(); ++i)
        if (host.pcie[i].is_root() && host.socket(host.pcie[i].numa_node) == socket)
            item.children.push_back(node_item(host, static_cast<int>(i)));
    add_devices(host, item, [&](const PciePlace& place) {
        return place.node < 0 && place.numa_node >= 0 && host.socket(place.numa_node) == socket;
    });
    return item;
}

std::vector<int> sockets_of(const Host& host) {
    std::vector<int> sockets;
    const auto add = [&](int numa_node) {
        const int socket = host.socket(numa_node);
        if (socket >= 0 && std::ranges::find(sockets, socket) == sockets.end()) sockets.push_back(socket);
    };
    for (const Core& core : host.cores) add(core.numa_node);
    for (const PcieNode& node : host.pcie) add(node.numa_node);
    for (const Gpu& gpu : host.gpus) add(gpu.place.numa_node);
    for (const Nic& nic : host.nics) add(nic.place.numa_node);
    std::ranges::sort(sockets);
    return sockets;
}

void add_lines(const TreeItem& item, const std::string& indent, std::string& text) {
    for (std::size_t i = 0; i < item.children.size(); ++i) {
        const TreeItem& child = item.children[i];
        const bool last = i + 1 == item.children.size();
        text += fmt::format("{}{} {}{}\n", indent, last ? "└─" : "├─", child.name,
                            child.detail.empty() ? "" : ": " + child.detail);
        add_lines(child, indent + (last ? "   " : "│  "), text);
    }
}

std::string legend_of(const std::vector<PathKind>& kinds) {
    struct Entry {
        PathKind kind;
        const char* text;
    };
    constexpr Entry entries[] = {
        {PathKind::NvLink, "NVn     n NVLinks (nvidia-smi: NVn)"},
        {PathKind::SameSwitch, "switch  through PCIe switches only (PIX, PXB)"},
        {PathKind::SameRoot, "root    through one PCIe root complex (PHB)"},
        {PathKind::SameSocket, "socket  between root complexes of one socket (NODE)"},
        {PathKind::AcrossSockets, "cross   across the link between sockets (SYS)"},
        {PathKind::Unknown, "?       unknown"},
    };
    std::string text;
    for (const Entry& entry : entries)
        if (std::ranges::find(kinds, entry.kind) != kinds.end()) text += fmt::format("  {}\n", entry.text);
    return text;
}

}  // namespace

TreeItem machine_tree(const Host& host) {
    const std::vector<int> sockets = sockets_of(host);
    const std::string count = sockets.size() > 1 ? fmt::format("{}x ", sockets.size()) : "";
    TreeItem root{
        TreeItem::Kind::Host,
        host.name,
        joined({host.cpu_name.empty() ? "" : count + host.cpu_name, memory_text(host.memory_bytes)}),
        0,
        {}};
    for (const int socket : sockets) root.children.push_back(socket_item(host, socket));
    for (std::size_t i = 0; i < host.pcie.size(); ++i)
        if (host.pcie[i].is_root() && host.pcie[i].numa_node < 0)
            root.children.push_back(node_item(host, static_cast<int>(i)));
    add_devices(host, root, [](const PciePlace& place) { return place.node < 0 && place.numa_node < 0; });
    return root;
}

std::string to_text(const TreeItem& tree) {
    std::string text = tree.name + (tree.detail.empty() ? "" : ": " + tree.detail) + "\n";
    add_lines(tree, "", text);
    return text;
}

std::string matrix_text(const Host& host) {
    if (host.gpus.empty()) return "";
    std::vector<PathKind> kinds;
    const auto cell = [&](const DevicePath& path) {
        kinds.push_back(path.kind);
        return short_text(path);
    };
    std::size_t width = 8;
    for (const Nic& nic : host.nics) width = std::max(width, nic.name.size() + 2);
    std::string text = fmt::format("{:<6}", "");
    for (std::size_t g = 0; g < host.gpus.size(); ++g) text += fmt::format("{:<8}", fmt::format("GPU{}", g));
    for (const Nic& nic : host.nics) text += fmt::format("{:<{}}", nic.name, width);
    text += "cores\n";
    for (std::size_t a = 0; a < host.gpus.size(); ++a) {
        text += fmt::format("{:<6}", fmt::format("GPU{}", a));
        for (std::size_t b = 0; b < host.gpus.size(); ++b)
            text += fmt::format("{:<8}", a == b ? "-" : cell(gpu_path(host, a, b)));
        for (std::size_t n = 0; n < host.nics.size(); ++n)
            text += fmt::format("{:<{}}", cell(gpu_nic_path(host, a, n)), width);
        text += ranges_text(cores_of_gpu(host, a)) + "\n";
    }
    return text + "\n" + legend_of(kinds);
}

std::string topo_text(const Host& host) {
    std::string text = to_text(machine_tree(host));
    if (const std::string matrix = matrix_text(host); !matrix.empty()) text += "\n" + matrix;
    if (const auto sentences = judge(host).sentences(); !sentences.empty())
        text += fmt::format("\n{}\n", fmt::join(sentences, "\n"));
    return text;
}

}  // namespace voltpile
