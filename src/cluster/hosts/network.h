// The network as this host sees it: which addresses a name has, and whether TCP connections on ports of the
// kernel's choice, such as mpirun and MPI make, get through to other hosts.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "cluster/hosts/report.h"

namespace voltpile {

// Resolves all names concurrently. A name without an answer within `seconds` gets an error.
std::vector<ResolvedName> resolve_names(const std::vector<std::string>& names, int seconds);

// Returns whether an address is a loopback address, such as "127.0.1.1" or "::1".
bool is_loopback(const std::string& address);

// Listens on all addresses and sends `greeting` to every connection, in a thread of its own.
class PortListener {
  public:
    explicit PortListener(std::string greeting);  // throws FileError
    ~PortListener();
    PortListener(const PortListener&) = delete;
    PortListener& operator=(const PortListener&) = delete;

    int port() const { return port_; }

  private:
    int fd_ = -1;
    int wake_ = -1;
    int port_ = 0;
    std::thread thread_;
};

struct PortTarget {
    std::string host;  // its name in the host file
    std::string address;
    int port = 0;
    std::string greeting;  // identifies the right host
};

struct PortAttempt {
    std::string host;
    std::string address;
    std::string error;  // empty: connected and received the greeting
};

// Connects to all targets concurrently, with a timeout of `seconds` each.
std::vector<PortAttempt> connect_to(const std::vector<PortTarget>& targets, int seconds);

}  // namespace voltpile
