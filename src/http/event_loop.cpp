#include "http/event_loop.h"

#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "http/asio_context.h"

namespace voltpile::http {

EventLoop::EventLoop() : context_(std::make_unique<Context>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::run() {
    context_->io.run();
}

void EventLoop::finish() {
    context_->work.reset();
}

void EventLoop::post(std::function<void()> call) {
    boost::asio::post(context_->io, std::move(call));
}

void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

struct Deadline::Timer {
    explicit Timer(EventLoop& loop) : timer(loop.context().io) {}
    boost::asio::steady_timer timer;
    std::uint64_t setting = 0;  // an expiry that was already queued when the timer was set again is ignored
};

Deadline::Deadline(EventLoop& loop) : timer_(std::make_shared<Timer>(loop)) {}

Deadline::~Deadline() {
    cancel();
}

void Deadline::set(std::chrono::microseconds after, std::function<void()> call) {
    timer_->timer.expires_after(after);
    timer_->timer.async_wait([timer = timer_, setting = ++timer_->setting,
                              call = std::move(call)](const boost::system::error_code& error) {
        if (!error && timer->setting == setting) call();
    });
}

void Deadline::cancel() {
    ++timer_->setting;
    timer_->timer.cancel();
}

}  // namespace voltpile::http
