#include "llm/replica/draw_forwarder.h"

#include <utility>

#include "device/device.h"

namespace voltpile::llm {

DrawForwarder::DrawForwarder(Channel& to_first, int device) : to_first_(to_first) {
    thread_ = std::jthread([this, device](const std::stop_token& stop) { run(stop, device); });
}

DrawForwarder::~DrawForwarder() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    try {
        for (const Sent& each : sent_) each.transfer.wait();
    } catch (const std::exception&) {
        // The receiver has noticed the lost peer itself.
    }
}

void DrawForwarder::push(const DrawsUnderWay& draws) {
    {
        const std::lock_guard lock(mutex_);
        if (failure_) std::rethrow_exception(failure_);
        waiting_.push_back(draws);
    }
    changed_.notify_one();
}

void DrawForwarder::run(const std::stop_token& stop, int device) {
    try {
        if (device >= 0) use_device(device);
        for (;;) {
            DrawsUnderWay next;
            {
                std::unique_lock lock(mutex_);
                if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
                next = waiting_.front();
                waiting_.pop_front();
            }
            send(next.wait().to_message());
        }
    } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
    }
}

void DrawForwarder::send(std::vector<std::byte> message) {
    while (!sent_.empty() && sent_.front().transfer.done()) sent_.pop_front();
    Sent& sent = sent_.emplace_back(Sent{std::move(message), {}});
    sent.transfer = to_first_.send(host_memory(sent.message.data(), sent.message.size()));
}

}  // namespace voltpile::llm
