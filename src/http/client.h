// An HTTP/1.1 client: one thread with an event loop has thousands of requests in flight.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/event_loop.h"
#include "http/message.h"
#include "http/url.h"

namespace voltpile::http {

struct ClientSettings {
    Url server;                                      // its path is not used
    std::string trusted;                             // see TlsContext
    std::chrono::milliseconds silence_time{60'000};  // a request fails if nothing arrives for so long
};

struct ClientRequest {
    std::string method = "GET";
    std::string path;
    std::vector<Header> headers;  // besides Host and Content-Length
    std::string body;
};

// Where a response goes, in the loop's thread. Every request that was sent ends with one call of `end`.
struct ResponseEvents {
    std::function<void(int status, const std::string& content_type)> head;
    std::function<void(std::string_view piece)> body;   // as it arrives
    std::function<void(const std::string& error)> end;  // empty: the response is complete
};

class Client {
  public:
    // Finds the server's addresses. Throws MachineError if it has none, JobError for an unusable file. loop:
    // must outlive the client.
    Client(EventLoop& loop, ClientSettings settings);
    ~Client();  // as close()
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Sends a request on an idle connection, or on a new one. In the loop's thread.
    void send(const ClientRequest& request, ResponseEvents events);
    // Closes all connections; requests in flight end without a call. In the loop's thread, or when it does
    // not run.
    void close();

  private:
    class Implementation;
    std::shared_ptr<Implementation> implementation_;
};

// A whole response.
struct Fetched {
    int status = 0;
    std::string content_type;
    std::string body;
};

// Sends one request and waits for its response. Throws as the constructor of Client does, and CommError that
// names the URL if no complete response comes.
Fetched fetch(const ClientSettings& settings, const ClientRequest& request);

}  // namespace voltpile::http
