// What this host has: cores, memory, GPUs, network cards and libraries.
#pragma once

#include <filesystem>
#include <vector>

#include "cluster/hosts/report.h"

namespace voltpile {

// Fills in what the report says of them.
void describe_hardware(HostReport& report);

// Those that are up, with their addresses; without loopback.
std::vector<HostInterface> host_interfaces();

// All RDMA ports, whatever their state.
std::vector<HostRdmaPort> rdma_ports(const std::filesystem::path& sys = "/sys");

// Those that are there, with version and file: MPI, HDF5, UCX, NCCL, the CUDA and NVIDIA drivers.
std::vector<LibraryInUse> libraries_in_use();

}  // namespace voltpile
