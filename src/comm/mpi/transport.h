// How MPI's messages travel between hosts. Open MPI decides when it starts, from its settings. This makes
// those settings before it starts, and reports the choice afterwards.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/network.h"

namespace voltpile {

enum class Transport { Auto, Tcp, Ucx };

struct TransportRequest {
    Transport transport = Transport::Auto;
    std::string device;  // network interface or RDMA device to use; empty: all that lead to other nodes
};

// Environment variables by name.
using Settings = std::map<std::string, std::string>;

// Returns the settings of Open MPI and UCX for the request on a host with these networks. Auto leaves the
// choice to Open MPI (UCX where it knows the RDMA ports, else TCP) and excludes interfaces of containers and
// virtual machines: these have the same address on every host, so ranks would wait for each other forever.
// Interfaces are paired by their addresses, which keeps Open MPI 5 from printing a warning.
Settings transport_settings(const TransportRequest& request, const std::vector<NetworkInterface>& interfaces,
                            const std::vector<RdmaPort>& ports);

// Applies the settings to this process, before MPI starts. Variables that are set already (mpirun --mca ...,
// -x ...) stay.
void apply(const Settings& settings);

// Returns what this process uses, once MPI has started: "UCX over mlx5_0 (100 Gb/s)", "TCP over eth0 (10
// Gb/s)".
std::string transport_text();

// Returns the same text from its parts. settings: those in force.
std::string transport_text(bool ucx, const Settings& settings,
                           const std::vector<NetworkInterface>& interfaces,
                           const std::vector<RdmaPort>& ports);

}  // namespace voltpile
