// What a host tells of itself when `voltpile hosts` asks it, as plain data, and its way through a line of
// JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltpile {

struct LibraryInUse {
    std::string name;     // "HDF5"
    std::string version;  // "1.10.8"
    std::string path;     // the file that was loaded
};

struct HostInterface {        // one that is up
    std::string name;         // "eth0"
    bool is_virtual = false;  // of containers and virtual machines
    double gb_per_s = 0;      // gigabits; 0: the kernel does not say
    int mtu = 0;
    bool half_duplex = false;
    std::vector<std::string> addresses;
};

struct HostRdmaPort {
    std::string device;  // "mlx5_0"
    int port = 1;
    std::string state;    // "ACTIVE", "INIT", "DOWN"
    double gb_per_s = 0;  // gigabits
};

struct HostGpu {
    std::string name;
    std::int64_t memory_bytes = 0;
};

struct ResolvedName {
    std::string name;
    std::vector<std::string> addresses;
    std::string error;  // why there are none
};

struct FolderView {
    bool exists = false;
    bool sees_probe = false;  // the file that the calling host has written there
    bool writable = false;
    std::string error;  // of writing
    std::int64_t free_bytes = 0;
};

struct HostReport {
    std::string hostname;
    std::string version, git_revision, checksum;  // of the program
    std::string cuda;                             // toolkit it was built with, or "no"
    std::vector<LibraryInUse> libraries;
    int cores = 0;
    std::int64_t memory_bytes = 0;
    std::vector<HostGpu> gpus;  // that the program can use
    int gpus_on_bus = 0;        // NVIDIA's, whether or not the driver has them
    std::vector<HostInterface> interfaces;
    std::vector<HostRdmaPort> rdma_ports;
    std::vector<ResolvedName> names;
    FolderView folder;
    std::string reached_at, reached_from;  // both ends of the ssh connection; empty if there is none
    int port = 0;                          // where it listens for the test of connections
};

}  // namespace voltpile
