#include "run/pci_places.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/kernel_files.h"
#include "comm/network.h"
#include "machine/gpu_snapshot.h"
#include "plan/device_paths.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

// The components of the device's path from its root complex on: "pci0000:80", bridges, the device.
std::vector<std::string> components_from_root(const fs::path& device) {
    std::error_code error;
    std::vector<std::string> parts;
    for (const fs::path& part : fs::canonical(device, error)) {
        const std::string name = part.string();
        if (name.starts_with("pci") && parts.empty())
            parts.push_back(name);
        else if (!parts.empty() && is_bus_id(name))
            parts.push_back(name);
    }
    return parts;
}

int generation_of(const std::string& speed) {
    // "8.0 GT/s PCIe"
    constexpr std::array<double, 6> gigatransfers{2.5, 5, 8, 16, 32, 64};
    const double value = std::atof(speed.c_str());
    const auto it = std::ranges::find(gigatransfers, value);
    return it == gigatransfers.end() ? 0 : static_cast<int>(it - gigatransfers.begin()) + 1;
}

// which: "current" or "max".
PcieLink link_of(const fs::path& device, const std::string& which) {
    const int lanes = std::atoi(first_line(device / (which + "_link_width")).c_str());
    constexpr int most_lanes = 32;  // virtual machines report 255
    return {generation_of(first_line(device / (which + "_link_speed"))), lanes > most_lanes ? 0 : lanes};
}

// The link of two ports: unknown values do not count.
int lower(int a, int b) {
    return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}
PcieLink lower(const PcieLink& a, const PcieLink& b) {
    return {lower(a.generation, b.generation), lower(a.lanes, b.lanes)};
}

std::string bus_id_of(const fs::path& device) {
    const std::vector<std::string> parts = components_from_root(device);
    return parts.size() < 2 ? "" : parts.back();
}

int node_named(const Host& host, const std::string& name) {
    const auto it = std::ranges::find(host.pcie, name, &PcieNode::name);
    return it == host.pcie.end() ? -1 : static_cast<int>(it - host.pcie.begin());
}

}  // namespace

PciPath pci_path(const std::string& bus_id, const fs::path& sys) {
    PciPath path;
    path.place.bus_id = bus_id;
    const fs::path device = sys / "bus/pci/devices" / bus_id;
    const std::vector<std::string> parts = components_from_root(device);
    if (parts.size() < 2) return path;
    path.root = parts.front();
    const std::vector<std::string> bridges(parts.begin() + 1, parts.end() - 1);
    const auto folder = [&](const std::string& id) { return sys / "bus/pci/devices" / id; };
    // The first bridge is a port of the root complex. A switch has an upstream and a downstream port.
    for (std::size_t i = 1; i < bridges.size(); i += 2)
        path.switches.push_back({bridges[i], link_of(folder(bridges[i]), "current")});
    const std::string numa = first_line(device / "numa_node");
    path.place.numa_node = numa.empty() ? -1 : std::atoi(numa.c_str());
    path.place.slot = link_of(device, "max");
    if (!bridges.empty()) path.place.slot = lower(path.place.slot, link_of(folder(bridges.back()), "max"));
    path.place.link = {path.place.slot.generation, link_of(device, "current").lanes};
    return path;
}

std::vector<NicPath> pci_nics(const fs::path& sys) {
    std::vector<NicPath> nics;
    const auto add = [&](Nic nic, const std::string& bus_id) {
        const auto same = [&](const NicPath& other) { return other.path.place.bus_id == bus_id; };
        if (bus_id.empty() || std::ranges::any_of(nics, same)) return;
        nics.push_back({std::move(nic), pci_path(bus_id, sys)});
    };
    for (const RdmaPort& port : active_rdma_ports(sys))
        add({port.device, true, port.gb_per_s, {}},
            bus_id_of(sys / "class/infiniband" / port.device / "device"));
    for (const NetworkInterface& each : network_interfaces(sys))
        if (!each.is_virtual)
            add({each.name, false, each.gb_per_s, {}}, bus_id_of(sys / "class/net" / each.name / "device"));
    return nics;
}

std::string nearest_rdma_port(const std::string& gpu_bus_id, int local_rank, const fs::path& sys) {
    const std::vector<RdmaPort> ports = active_rdma_ports(sys);
    const auto subnet = [&](const RdmaPort& port) {
        const fs::path folder = sys / "class/infiniband" / port.device / "ports" / std::to_string(port.port);
        constexpr std::size_t prefix = 19;  // of a GID: four groups of four digits
        return first_line(folder / "gids/0").substr(0, prefix);
    };
    const auto other_network = [&](const RdmaPort& port) {
        return port.gb_per_s != ports.front().gb_per_s || subnet(port) != subnet(ports.front());
    };
    if (ports.size() < 2 || std::ranges::any_of(ports, other_network)) return "";
    Host host;
    host.gpus.resize(1);
    host.gpus[0].place = add_place(host, pci_path(gpu_bus_id, sys));
    for (const NicPath& nic : pci_nics(sys)) {
        host.nics.push_back(nic.nic);
        host.nics.back().place = add_place(host, nic.path);
    }
    const std::vector<std::size_t> nearest = nearest_nics(host, 0);
    if (nearest.empty()) return "";
    const std::string& name = host.nics[nearest[static_cast<std::size_t>(local_rank) % nearest.size()]].name;
    const auto port = std::ranges::find(ports, name, &RdmaPort::device);
    return port == ports.end() ? "" : name + ":" + std::to_string(port->port);
}

PciePlace add_place(Host& host, const PciPath& path) {
    PciePlace place = path.place;
    if (path.root.empty()) return place;
    const auto add = [&](const std::string& name, const PcieLink& uplink) {
        const int known = node_named(host, name);
        const int parent = place.node;
        place.node = known >= 0 ? known : static_cast<int>(host.pcie.size());
        if (known < 0) host.pcie.push_back({name, parent, place.numa_node, uplink});
    };
    add(path.root, {});
    for (const PciSwitch& each : path.switches) add(each.name, each.uplink);
    return place;
}

}  // namespace voltpile
