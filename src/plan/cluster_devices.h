// The devices in a machine description: root complexes, switches, GPUs, network adapters and NVLinks.
#pragma once

#include "plan/topology.h"

namespace voltpile {

class ClusterTable;

inline constexpr int kMostGpusPerHost = 64;

// Reads the devices of [[host]] into `host`, which has its cores and NUMA nodes. Throws JobError with file
// and line for keys that do not exist, devices that do not exist and sizes that contradict each other.
void read_devices(const ClusterTable& table, Host& host);

// Returns the most NVLinks that a GPU of this compute capability has, and the gigabytes per second of one in
// one direction. {0, 0}: unknown.
struct NvLinkLimits {
    int links = 0;
    double gb_per_s = 0;
};
NvLinkLimits nvlink_limits(int compute_capability);

}  // namespace voltpile
