// The report of a host to `voltpile hosts`, as plain data (cluster/hosts/report_json has it in JSON).
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

// A network interface that is up.
struct HostInterface {
    std::string name;         // "eth0"
    bool is_virtual = false;  // belongs to containers or virtual machines
    double gb_per_s = 0;      // gigabits per second; 0: unknown to the kernel
    int mtu = 0;
    bool half_duplex = false;
    std::vector<std::string> addresses;
};

struct HostRdmaPort {
    std::string device;  // "mlx5_0"
    int port = 1;
    std::string state;    // "ACTIVE", "INIT", "DOWN"
    double gb_per_s = 0;  // gigabits per second
};

struct HostGpu {
    std::string name;
    std::int64_t memory_bytes = 0;
};

struct ResolvedName {
    std::string name;
    std::vector<std::string> addresses;
    std::string error;  // why there are no addresses
};

struct FolderView {
    bool exists = false;
    bool sees_probe = false;  // sees the file that the calling host wrote
    bool writable = false;
    std::string error;  // why it is not writable
    std::int64_t free_bytes = 0;
};

struct HostReport {
    std::string hostname;
    std::string version, git_revision, checksum;  // the program's
    std::string cuda;                             // version of its CUDA toolkit, or "no"
    std::vector<LibraryInUse> libraries;
    int cores = 0;
    std::int64_t memory_bytes = 0;
    std::vector<HostGpu> gpus;  // GPUs that the program can use
    int gpus_on_bus = 0;        // NVIDIA GPUs on the PCI bus, with or without driver
    std::vector<HostInterface> interfaces;
    std::vector<HostRdmaPort> rdma_ports;
    std::vector<ResolvedName> names;
    FolderView folder;
    std::string reached_at, reached_from;  // addresses of the ssh connection's ends; empty without ssh
    int port = 0;                          // TCP port where it listens for the connection test
};

}  // namespace voltpile
