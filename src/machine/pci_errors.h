// Errors on the way to a PCI device, as the kernel counts them (AER). They rise long before anything fails,
// on the device or on a port above it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace voltpile {

struct PciErrors {
    std::string bus_id;                               // "0000:3a:00.0"
    double correctable = 0, nonfatal = 0, fatal = 0;  // since the node was started
};

// Returns the counters of the device and of the ports above it, from the root down; none for those that do
// not count. sys: "/sys" or a copy of it.
std::vector<PciErrors> pci_errors(const std::string& bus_id, const std::filesystem::path& sys = "/sys");

// Returns the bus ids of NVIDIA's GPUs that the kernel sees, sorted.
std::vector<std::string> nvidia_gpus(const std::filesystem::path& sys = "/sys");

}  // namespace voltpile
