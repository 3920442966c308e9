// An HTTP/1.1 server: one thread serves all connections, handlers answer from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "http/router.h"

namespace voltpile::http {

// A request that the server refuses itself.
struct Refused {
    int status;
    std::string_view message;
    std::string_view path;  // empty if it is not known
    std::string_view id;    // likewise
    std::string_view peer;
};

struct ServerSettings {
    std::string host = "127.0.0.1";        // a name or an address; "0.0.0.0" and "::" listen on all
    int port = 8000;                       // 0: a free one, see Server::port()
    std::string tls_certificate, tls_key;  // PEM files; both empty: no TLS

    // Limits. Each has the status that a client gets when it exceeds them.
    int connections = 4096;               // 503, at once
    std::size_t header_bytes = 32 << 10;  // 431
    std::size_t body_bytes = 32 << 20;    // 413
    std::chrono::milliseconds header_time{
        10'000};  // 408: from the first byte of a request to the end of its headers
    std::chrono::milliseconds body_time{60'000};  // 408: for the body
    std::chrono::milliseconds idle_time{75'000};  // between two requests; then the connection is closed
    std::chrono::milliseconds stall_time{
        30'000};  // a client that takes nothing of a response for so long is dropped
    std::size_t stream_bytes =
        1 << 20;                  // of a streamed response may wait for a client; beyond, it is dropped
    int send_buffer = 128 << 10;  // bytes that the kernel may keep for a slow client

    // Origins whose pages may read responses (CORS), such as "https://chat.example"; "*": all.
    std::vector<std::string> cors_origins;

    // Called with the head of each request that has a route, in the server's thread, before its body is read.
    // A response refuses it.
    std::function<std::optional<Response>(const Request&)> admit;
    // Makes the response for what the server refuses itself, in the server's thread.
    std::function<Response(const Refused&)> refusal;
};

// Counts since the start. Thread-safe.
struct ServerCounters {
    std::atomic<std::int64_t> connections = 0;  // open now
    std::atomic<std::int64_t> accepted = 0;
    std::atomic<std::int64_t> over_limit = 0;    // connections that were answered 503
    std::atomic<std::int64_t> refused = 0;       // requests that the server refused itself
    std::atomic<std::int64_t> slow_clients = 0;  // dropped because they took nothing or too little
};

// Throws what a Server would for unusable TLS files.
void check_tls_files(const std::string& certificate, const std::string& key);

class Server {
  public:
    // Listens, and serves in a thread of its own. Throws JobError for an unknown host or unusable TLS files,
    // MachineError if the port is taken or not allowed.
    Server(ServerSettings settings, Router router);
    ~Server();  // as stop(0)
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    int port() const;
    std::string url() const;  // "http://127.0.0.1:8000"; with this host's name if it listens on all addresses
    const ServerCounters& counters() const;

    // Stops accepting connections, closes idle ones, waits at most this long for the others to receive their
    // responses, then closes them. Handlers of these are told that their client is gone.
    void stop(std::chrono::milliseconds grace);

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace voltpile::http
