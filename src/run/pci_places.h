// Reads from sysfs where PCI devices are plugged in.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plan/topology.h"

namespace voltpile {

// A switch above a device, by the bus id of its upstream port.
struct PciSwitch {
    std::string name;
    PcieLink uplink;
};

// Where a device is plugged in, before its host has a tree of nodes. PciePlace::node is not set.
struct PciPath {
    std::string root;                 // the root complex: "pci0000:80"; empty: unknown
    std::vector<PciSwitch> switches;  // the one at the root complex first
    PciePlace place;
};

// bus_id: "0000:1b:00.0". All but the bus id is unknown if sysfs does not have the device.
PciPath pci_path(const std::string& bus_id, const std::filesystem::path& sys = "/sys");

struct NicPath {
    Nic nic;
    PciPath path;
};

// Returns the RDMA devices with an active port, then the network interfaces that are up and belong to other
// PCI devices.
std::vector<NicPath> pci_nics(const std::filesystem::path& sys = "/sys");

// Returns the RDMA port next to a GPU as UCX names it ("mlx5_0:1"). Ports that are equally near serve the
// local ranks in turn. Empty where there is no choice to make, or where a rank on one port might not reach a
// rank on another: fewer than two ports, ports of unequal speed, or of different subnets.
std::string nearest_rdma_port(const std::string& gpu_bus_id, int local_rank,
                              const std::filesystem::path& sys = "/sys");

// Returns the place with its node, and adds the nodes above it to the host where they are new.
PciePlace add_place(Host& host, const PciPath& path);

}  // namespace voltpile
