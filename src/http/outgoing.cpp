#include "http/outgoing.h"

namespace voltpile::http {

// Wakes the connection unless it is awake. The caller holds the lock, so that detach() cannot return in the
// middle.
void Outgoing::wake() {
    if (awake_ || !wake_) return;
    awake_ = true;
    wake_();
}

void Outgoing::begin(Response head, bool whole) {
    std::unique_lock lock(mutex_);
    if (gone_ || begun_) return;
    begun_ = true;
    ended_ = part_.ended = part_.whole = whole;
    part_.head = std::move(head);
    wake();
}

bool Outgoing::write(std::string_view piece) {
    std::unique_lock lock(mutex_);
    if (gone_ || ended_ || part_.broken) return false;
    if (part_.body.size() + piece.size() > limit_) {
        part_.broken = part_.slow = true;
        part_.body.clear();
        awake_ = false;  // a connection in the middle of a write has not looked since the last call
    } else {
        part_.body += piece;
    }
    wake();
    return !part_.broken;
}

void Outgoing::end() {
    std::unique_lock lock(mutex_);
    if (gone_ || ended_) return;
    ended_ = part_.ended = true;
    wake();
}

void Outgoing::abort() {
    std::unique_lock lock(mutex_);
    if (gone_ || ended_) return;
    const auto unused = std::exchange(on_gone_, nullptr);  // the handler has left as well
    part_.broken = true;
    wake();
    lock.unlock();
}

void Outgoing::on_gone(std::function<void()> call) {
    std::unique_lock lock(mutex_);
    if (!gone_) {
        on_gone_ = std::move(call);
        return;
    }
    lock.unlock();
    call();
}

bool Outgoing::gone() const {
    const std::lock_guard lock(mutex_);
    return gone_;
}

bool Outgoing::slow() const {
    const std::lock_guard lock(mutex_);
    return part_.slow;
}

Outgoing::Part Outgoing::take() {
    const std::lock_guard lock(mutex_);
    awake_ = false;
    Part taken = std::exchange(part_, {});
    part_.broken = taken.broken;
    return taken;
}

void Outgoing::lose_client() {
    std::unique_lock lock(mutex_);
    gone_ = true;
    wake_ = nullptr;
    const auto call = std::exchange(on_gone_, nullptr);
    lock.unlock();
    if (call) call();
}

void Outgoing::detach() {
    std::unique_lock lock(mutex_);
    wake_ = nullptr;
    const auto unused = std::exchange(on_gone_, nullptr);
    lock.unlock();
}

}  // namespace voltpile::http
