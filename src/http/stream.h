// A connection as a stream of bytes, over TCP or TLS.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "http/event_loop.h"

struct sockaddr;

namespace voltpile::http {

class TlsContext;

// All calls and callbacks happen in the loop's thread. What a callback captures must keep the stream alive.
class Stream {
  public:
    // bytes: how many were read or written. ok: false at the end of the stream and after an error.
    using Done = std::function<void(std::size_t bytes, bool ok)>;

    virtual ~Stream() = default;

    // Waits until a client's connection stands, then completes the TLS handshake; calls back at once if there
    // is nothing to wait for.
    virtual void open(Done done) = 0;
    // Reads at least one byte. At most one read and one write may be waiting.
    virtual void read(std::span<char> into, Done done) = 0;
    // Writes at least one byte of `bytes`, which must stay valid until the callback.
    virtual void write(std::string_view bytes, Done done) = 0;
    // Sends the end of the stream; reading stays possible.
    virtual void end_writing() = 0;
    // Waiting calls fail.
    virtual void close() = 0;
    // Makes close() discard what the client has not yet taken.
    virtual void reset() = 0;

    // Returns why the last call failed: "Connection refused".
    virtual std::string error() const = 0;
};

// descriptor: of an accepted TCP socket; the stream owns it. send_buffer: bytes that the kernel may keep for
// a slow reader. tls: nullptr for plain TCP; must outlive the stream.
std::unique_ptr<Stream> make_stream(EventLoop& loop, int descriptor, int send_buffer, TlsContext* tls);

// Begins a client's connection to an address; open() completes it. tls: nullptr for plain TCP; must outlive
// the stream. host: the name that the server's certificate must have. Throws MachineError if there is no
// socket left.
std::unique_ptr<Stream> make_client_stream(EventLoop& loop, const sockaddr* address, unsigned length,
                                           TlsContext* tls, const std::string& host);

}  // namespace voltpile::http
