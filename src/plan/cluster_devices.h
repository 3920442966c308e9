// The devices in a machine description: root complexes, switches, GPUs, network adapters and NVLinks.
#pragma once

#include "plan/topology.h"

namespace voltpile {

class ClusterTable;

inline constexpr int kMostGpusPerHost = 64;

// Bounds on what processors, GPUs and hosts can do, which stop typing errors.
inline constexpr double kLeastGhz = 0.1, kMostGhz = 10;
inline constexpr double kLeastGbPerS = 0.1, kMostGbPerS = 1e6;  // of memory
inline constexpr double kLeastWatts = 1, kMostWatts = 1e6;

// Reads the devices of [[host]] into `host`, which has its cores and NUMA nodes. Throws JobError with file
// and line for keys that do not exist, devices that do not exist and sizes that contradict each other.
void read_devices(const ClusterTable& table, Host& host);

// Returns the most NVLinks that a GPU of this compute capability has, and the gigabytes per second of one in
// one direction.
struct NvLinkLimits {
    int links = 0;  // -1: unknown
    double gb_per_s = 0;
};
NvLinkLimits nvlink_limits(int compute_capability);

}  // namespace voltpile
