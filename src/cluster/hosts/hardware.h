// Cores, memory, GPUs and network of this host, from /sys and /proc.
#pragma once

#include <filesystem>

#include "cluster/hosts/report.h"

namespace voltpile {

// Fills in what the report says of them.
void describe_hardware(HostReport& report);

// Those that are up, with their addresses; without loopback.
std::vector<HostInterface> host_interfaces();

// All RDMA ports, whatever their state.
std::vector<HostRdmaPort> rdma_ports(const std::filesystem::path& sys = "/sys");

}  // namespace voltpile
