// Where the processes of a distributed program find each other.
#pragma once

#include <string>

namespace voltpile::command {

struct HostNetwork {
    std::string interface;  // "eth0"; "lo" if no other has an address
    std::string address;    // its IPv4 address
};

// Returns the fastest interface of this host that leads to other hosts, or the one called `preferred` if that
// has an address.
HostNetwork network_of_this_host(const std::string& preferred);

// Returns a TCP port of this host that is free now. Throws MachineError.
int free_port();

}  // namespace voltpile::command
