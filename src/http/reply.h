// The answer to one request, which any thread may give, at once or later, whole or piece by piece.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"

namespace voltpile::http {

class Outgoing;

// Calls never wait for the client. A Reply that is destroyed unanswered answers 500; one that is destroyed in
// the middle of a stream breaks the connection, so that the client can tell. Movable; use it in one thread at
// a time.
class Reply {
  public:
    explicit Reply(std::shared_ptr<Outgoing> outgoing);
    ~Reply();
    Reply(Reply&&) noexcept = default;
    Reply& operator=(Reply&&) noexcept = default;

    // Sends the whole response.
    void send(Response response);

    // Sends the head of a response whose body comes piece by piece: begin(), any number of write(), end().
    void begin(Response head);
    // Queues a piece of the body. Returns false once the client is gone. A client that reads so slowly that
    // more than ServerSettings::stream_bytes wait for it is disconnected.
    bool write(std::string_view piece);
    void end();

    // Calls `call` once, in the server's thread, if the client goes away before the response is complete; at
    // once if it has gone already. Set it at most once.
    void on_gone(std::function<void()> call);
    bool gone() const;

  private:
    std::shared_ptr<Outgoing> outgoing_;
};

}  // namespace voltpile::http
