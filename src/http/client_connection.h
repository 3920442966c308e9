// A client's connection: sends requests one after the other.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/client.h"
#include "http/event_loop.h"
#include "http/response_parser.h"
#include "http/stream.h"

namespace voltpile::http {

// All functions are called in the loop's thread.
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
  public:
    // How a request has ended.
    struct End {
        std::string error;       // empty: the response is complete
        bool reusable = false;   // the connection takes another request
        bool untouched = false;  // the server has answered nothing of it
        bool connected = false;  // at least once
    };

    // stream: connecting. silence: the longest wait for more of a response. closed: the server closed the
    // connection while it was idle.
    ClientConnection(EventLoop& loop, std::unique_ptr<Stream> stream, std::chrono::milliseconds silence,
                     std::function<void(ClientConnection*)> closed);

    // Sends a request. Only once the previous one has ended. events: without `end`.
    void send(std::string request, ResponseEvents events, std::function<void(End)> ended);
    void close();  // without further calls

  private:
    void write();
    void read();
    void received(std::size_t bytes);
    void end(std::string error);
    void watch();  // for silence

    std::unique_ptr<Stream> stream_;
    std::chrono::milliseconds silence_;
    std::function<void(ClientConnection*)> closed_;
    Deadline deadline_;
    bool opened_ = false, closed_by_us_ = false, reading_ = false;

    // Of the request in flight.
    std::string out_;
    std::size_t sent_ = 0;
    std::string in_;                          // received and not yet parsed
    std::unique_ptr<ResponseParser> parser_;  // nullptr: idle
    ResponseEvents events_;
    std::function<void(End)> ended_;
    bool untouched_ = true, head_passed_ = false;
    std::array<char, 16384> chunk_;
};

}  // namespace voltpile::http
