#include "comm/mpi/outbox.h"

#include <chrono>
#include <utility>

#include "base/link_fault.h"

namespace voltpile {
namespace {

constexpr std::chrono::microseconds tick{20};  // between polls of messages in flight

}  // namespace

Outbox::Outbox(const Communicator& group)
    : group_(group), thread_([this](const std::stop_token& stop) { run(stop); }) {}

Outbox::~Outbox() {
    thread_.request_stop();
    thread_.join();
    // MPI may still read them.
    if (!sent_.empty()) new std::deque<Sent>(std::move(sent_));
}

void Outbox::send(int to, int tag, std::shared_ptr<const std::string> bytes) {
    if (to != group_.rank() && message_lost()) return;
    {
        const std::lock_guard lock(mutex_);
        if (failure_) std::rethrow_exception(failure_);
        Sent& sent = sent_.emplace_back(Sent{MPI_REQUEST_NULL, std::move(bytes)});
        mpi_check(MPI_Isend(sent.bytes->data(), mpi_length(*sent.bytes), MPI_BYTE, to, tag, group_.mpi(),
                            &sent.request),
                  "MPI_Isend");
    }
    changed_.notify_all();
}

void Outbox::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    try {
        while (changed_.wait(lock, stop, [this] { return !sent_.empty(); }) && !stop.stop_requested()) {
            forget_taken();
            if (sent_.empty()) changed_.notify_all();
            lock.unlock();
            std::this_thread::sleep_for(tick);
            lock.lock();
        }
    } catch (...) {
        failure_ = std::current_exception();
        changed_.notify_all();
    }
}

void Outbox::forget_taken() {
    std::erase_if(sent_, [](Sent& each) {
        int taken = 0;
        mpi_check(MPI_Test(&each.request, &taken, MPI_STATUS_IGNORE), "MPI_Test");
        return taken != 0;
    });
}

void Outbox::drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return failure_ || sent_.empty(); });
    if (failure_) std::rethrow_exception(failure_);
}

}  // namespace voltpile
