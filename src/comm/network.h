// The interfaces and RDMA ports of this host, as the kernel shows them in /sys.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace voltpile {

struct NetworkInterface {
    std::string name;     // "eth0"
    double gb_per_s = 0;  // gigabits; 0: unknown
    bool is_virtual =
        false;  // a bridge or tunnel of containers or virtual machines, which leads to no other node
};

struct RdmaPort {
    std::string device;  // "mlx5_0"
    int port = 1;
    double gb_per_s = 0;
};

// Returns the interfaces that are up, without loopback, by name.
std::vector<NetworkInterface> network_interfaces(const std::filesystem::path& sys = "/sys");

// Returns the ports with an active link, by device and port.
std::vector<RdmaPort> active_rdma_ports(const std::filesystem::path& sys = "/sys");

}  // namespace voltpile
