// The PCI Express devices of a host as plain data: root complexes, switches, network adapters, and the links
// between them. GPUs are in plan/topology.h.
#pragma once

#include <string>

namespace voltpile {

// A PCI Express link. 0: unknown.
struct PcieLink {
    int generation = 0;  // 3 for PCIe 3.0
    int lanes = 0;
    bool operator==(const PcieLink&) const = default;
};

// Returns gigabytes per second in one direction, after the encoding; 0 if unknown.
double gb_per_s(const PcieLink& link);

// Returns "PCIe 3.0 x16"; empty if unknown.
std::string to_text(const PcieLink& link);

// A root complex of a processor, or a switch below one.
struct PcieNode {
    std::string name;    // "root 0", "pci0000:80"
    int parent = -1;     // index into Host::pcie of what is above a switch; -1: this is a root complex
    int numa_node = -1;  // -1: unknown
    PcieLink uplink;     // of a switch
    bool is_root() const { return parent < 0; }
    bool operator==(const PcieNode&) const = default;
};

// Where a GPU or a network adapter is plugged in.
struct PciePlace {
    std::string bus_id;  // "0000:1b:00.0"; empty on described machines
    int node = -1;       // index into Host::pcie; -1: unknown
    int numa_node = -1;  // -1: unknown
    PcieLink link;       // the lanes in use; the generation under load (idle devices lower it)
    PcieLink slot;       // what the device and the slot can do
    bool operator==(const PciePlace&) const = default;
};

// A network adapter: an RDMA device or a network interface.
struct Nic {
    std::string name;  // "mlx5_0" of an RDMA device, else "eth0"
    bool rdma = false;
    double gbit_per_s = 0;  // 0: unknown
    PciePlace place;
    bool operator==(const Nic&) const = default;
};

}  // namespace voltpile
