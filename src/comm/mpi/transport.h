// How MPI's messages travel between hosts. Open MPI decides when it starts, from its settings; these settings
// are made here, before it starts, and afterwards it can be said what came of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/network.h"

namespace voltpile {

enum class Transport { Auto, Tcp, Ucx };

struct TransportRequest {
    Transport transport = Transport::Auto;
    std::string device;  // network interface or RDMA device to use; empty: every one that leads anywhere
};

// Environment variables by name.
using Settings = std::map<std::string, std::string>;

// The settings of Open MPI and UCX that the request comes to on a host with these networks. Auto leaves the
// choice to Open MPI (UCX where there are RDMA ports it knows, else TCP), and only keeps it from interfaces
// of containers and virtual machines: these have the same address on every host, so that ranks would wait
// for each other for ever.
Settings transport_settings(const TransportRequest& request, const std::vector<NetworkInterface>& interfaces,
                            const std::vector<RdmaPort>& ports);

// Applies them to this process, before MPI starts; what is set already (mpirun --mca ..., -x ...) stays.
void apply(const Settings& settings);

// What this process uses, once MPI has started: "UCX over mlx5_0 (100 Gb/s)", "TCP over eth0 (10 Gb/s)".
std::string transport_text();

// The same from its parts. settings: those in force.
std::string transport_text(bool ucx, const Settings& settings,
                           const std::vector<NetworkInterface>& interfaces,
                           const std::vector<RdmaPort>& ports);

}  // namespace voltpile
