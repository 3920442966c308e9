// Accepts TCP connections.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "http/event_loop.h"

namespace voltpile::http {

// Throws what a Listener would for an address that it cannot listen on now. Nobody can connect to it
// meanwhile.
void check_address(const std::string& host, int port);

class Listener {
  public:
    // descriptor: of the accepted socket, which the callee owns. peer: its address.
    using Accepted = std::function<void(int descriptor, std::string peer)>;

    // Listens. port: 0 for a free one. Throws JobError for an unknown host, MachineError if the port cannot
    // be had.
    Listener(EventLoop& loop, const std::string& host, int port);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    // Calls `accepted` in the loop's thread for each connection from now on.
    void start(Accepted accepted);
    void stop();  // in the loop's thread, or when it does not run

    int port() const { return port_; }

  private:
    struct Socket;
    std::shared_ptr<Socket> socket_;
    int port_ = 0;
};

}  // namespace voltpile::http
