#include "llm/engine/inbox.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace voltpile::llm {

void Inbox::add(Arrival arrival) {
    {
        const std::lock_guard lock(mutex_);
        if (closed_) throw QueueClosed();
        if (!ids_.insert(arrival.request.id).second)
            throw std::invalid_argument(
                fmt::format("the request id {} is already in use", arrival.request.id));
        contents_.arrivals.push_back(std::move(arrival));
    }
    changed_.notify_one();
}

void Inbox::cancel(std::int64_t id) {
    {
        const std::lock_guard lock(mutex_);
        if (!ids_.contains(id)) return;
        contents_.cancelled.push_back(id);
    }
    changed_.notify_one();
}

void Inbox::close() {
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
    }
    changed_.notify_one();
}

int Inbox::arrivals() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(contents_.arrivals.size());
}

Inbox::Contents Inbox::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(contents_, {});
}

bool Inbox::empty() const {
    const std::lock_guard lock(mutex_);
    return empty_locked();
}

bool Inbox::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !empty_locked(); });
    return !empty_locked();
}

void Inbox::forget(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    ids_.erase(id);
}

}  // namespace voltpile::llm
