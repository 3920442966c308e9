// What a Reply hands over to its connection: the meeting point of a handler's thread and the server's.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/message.h"

namespace voltpile::http {

// Thread-safe. Callbacks are destroyed while the mutex is free, because one may own the Reply of this
// response.
class Outgoing {
  public:
    // wake: called after something was added to an empty queue; asks the connection to take() in its own
    // thread. limit: the most bytes that may wait.
    Outgoing(std::function<void()> wake, std::size_t limit) : wake_(std::move(wake)), limit_(limit) {}

    // For Reply. Each does nothing once the client is gone or the response has ended.
    void begin(Response head, bool whole);  // whole: the body is in `head`
    bool write(std::string_view piece);
    void end();
    void abort();
    void on_gone(std::function<void()> call);
    bool gone() const;

    // For the connection.
    struct Part {
        std::optional<Response> head;
        bool whole = false;
        std::string body;
        bool ended = false;
        bool broken = false;  // aborted or slow
        bool slow = false;
    };
    bool slow() const;  // more than `limit` bytes wait: disconnect
    Part take();
    // Tells the handler that its client is gone.
    void lose_client();
    // Releases the connection once the response is on its way.
    void detach();

  private:
    void wake();  // with the lock held

    mutable std::mutex mutex_;
    std::function<void()> wake_, on_gone_;
    std::size_t limit_;
    Part part_;  // not yet taken
    bool awake_ = false;
    bool begun_ = false, ended_ = false, gone_ = false;
};

}  // namespace voltpile::http
