// TCP connections between hosts on a port of the kernel's choice, as mpirun and MPI make them: what a
// firewall forbids although ssh gets through.
#pragma once

#include <string>
#include <thread>
#include <vector>

namespace voltpile {

// Listens on all addresses and answers every connection with `greeting`, in a thread of its own.
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
    std::string greeting;  // that proves that it was the right host
};

struct PortAttempt {
    std::string host;
    std::string address;
    std::string error;  // empty: connected and greeted
};

// Connects to all of them at the same time; each has `seconds`.
std::vector<PortAttempt> connect_to(const std::vector<PortTarget>& targets, int seconds);

}  // namespace voltpile
