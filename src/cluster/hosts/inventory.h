// What this host has: cores, memory, GPUs, network cards and libraries.
#pragma once

#include <filesystem>
#include <vector>

#include "cluster/hosts/report.h"

namespace voltpile {

// Sets the hardware fields of a report: cores, memory, GPUs, interfaces and RDMA ports, from /sys and /proc.
void describe_hardware(HostReport& report);

// Returns the network interfaces that are up, with their addresses, except loopback.
std::vector<HostInterface> host_interfaces();

// Returns all RDMA ports in any state.
std::vector<HostRdmaPort> rdma_ports(const std::filesystem::path& sys = "/sys");

// Returns the libraries that this process uses or would load, with version and file: MPI, HDF5, UCX, NCCL,
// the CUDA and NVIDIA drivers.
std::vector<LibraryInUse> libraries_in_use();

}  // namespace voltpile
