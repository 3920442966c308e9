// The thread of all connections of a server or a client: an event loop with timers (Boost.Asio).
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace voltpile::http {

class EventLoop {
  public:
    EventLoop();
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    // Calls callbacks in this thread until finish() was called and nothing is left to wait for.
    void run();
    void finish();                          // in the loop's thread
    void post(std::function<void()> call);  // runs `call` in the loop's thread; thread-safe

    struct Context;  // asio_context.h
    Context& context() { return *context_; }

  private:
    std::unique_ptr<Context> context_;
};

// Lets this process have as many descriptors as the system allows; each connection takes one, and the usual
// limit is far lower.
void raise_descriptor_limit();

// Calls back once after a time, unless it is set again or cancelled before. Use it in the loop's thread only.
class Deadline {
  public:
    explicit Deadline(EventLoop& loop);
    ~Deadline();  // cancels
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

    void set(std::chrono::microseconds after, std::function<void()> call);
    void cancel();

  private:
    struct Timer;
    std::shared_ptr<Timer> timer_;
};

}  // namespace voltpile::http
