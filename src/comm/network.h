// The network as this host's kernel shows it in /sys: interfaces and RDMA ports.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace voltpile {

struct NetworkInterface {
    std::string name;         // "eth0"
    double gb_per_s = 0;      // gigabits; 0: the kernel does not say
    bool is_virtual = false;  // a bridge or tunnel of containers and virtual machines: leads to no other node
};

struct RdmaPort {
    std::string device;  // "mlx5_0"
    int port = 1;
    double gb_per_s = 0;
};

// Those that are up, without loopback, by name.
std::vector<NetworkInterface> network_interfaces(const std::filesystem::path& sys = "/sys");

// Those whose link is active, by device and port.
std::vector<RdmaPort> active_rdma_ports(const std::filesystem::path& sys = "/sys");

}  // namespace voltpile
