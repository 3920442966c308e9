#include "comm/network.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/kernel_files.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

// By name, because a bridge may also be the node's real interface.
bool is_of_containers(std::string_view name) {
    constexpr std::array<std::string_view, 9> beginnings{"docker",  "br-",  "veth",   "virbr", "cni",
                                                         "flannel", "cali", "podman", "vnet"};
    return std::ranges::any_of(beginnings, [&](std::string_view b) { return name.starts_with(b); });
}

}  // namespace

std::vector<NetworkInterface> network_interfaces(const fs::path& sys) {
    constexpr int loopback_type = 772;  // ARPHRD_LOOPBACK
    std::vector<NetworkInterface> found;
    for (const fs::path& entry : sorted_entries(sys / "class/net")) {
        const std::string state = first_line(entry / "operstate");
        if (state != "up" && state != "unknown") continue;  // some drivers never know the state
        if (std::atoi(first_line(entry / "type").c_str()) == loopback_type) continue;
        const std::string name = entry.filename().string();
        const double megabits = std::atof(first_line(entry / "speed").c_str());
        found.push_back({name, std::max(megabits, 0.0) / 1e3, is_of_containers(name)});
    }
    return found;
}

std::vector<RdmaPort> active_rdma_ports(const fs::path& sys) {
    std::vector<RdmaPort> found;
    for (const fs::path& device : sorted_entries(sys / "class/infiniband")) {
        for (const fs::path& port : sorted_entries(device / "ports")) {
            if (first_line(port / "state").find("ACTIVE") == std::string::npos) continue;  // "4: ACTIVE"
            found.push_back({device.filename().string(), std::atoi(port.filename().c_str()),
                             std::atof(first_line(port / "rate").c_str())});  // "100 Gb/sec (4X EDR)"
        }
    }
    return found;
}

}  // namespace voltpile
