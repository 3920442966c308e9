#include "comm/channel/local.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>

#include "base/format.h"
#include "base/host_name.h"

namespace voltpile {

LocalChannel::LocalChannel(ChannelEngine& engine, ChannelGpu* gpu, const ChannelOptions& options, int rank)
    : ChannelEndpoint(engine, gpu, options), gpu_(gpu), rank_(rank) {}

void LocalChannel::accept_send(std::shared_ptr<TransferState> transfer) {
    unfinished_bytes_ += transfer->bytes;
    sends_.push_back(std::move(transfer));
    move();
}

void LocalChannel::accept_receive(std::shared_ptr<TransferState> transfer) {
    receives_.push_back(std::move(transfer));
    move();
}

bool LocalChannel::polls() const {
    return copy_ != nullptr || (!sends_.empty() && sends_.front()->ready != nullptr) ||
           (!receives_.empty() && receives_.front()->ready != nullptr);
}

bool LocalChannel::move() {
    bool moved = false;
    try {
        while (advance()) moved = true;
    } catch (const std::exception& error) {  // of the GPU
        give_up(error.what());
        return true;
    }
    return moved;
}

bool LocalChannel::progress(ChannelClock::time_point now) {
    const bool moved = move();
    if (sends_.empty() != receives_.empty())
        sends_.empty() ? check_limit(receives_, now, "sent") : check_limit(sends_, now, "received");
    return moved;
}

bool LocalChannel::advance() {
    if (sends_.empty() || receives_.empty()) return false;
    TransferState& from = *sends_.front();
    TransferState& to = *receives_.front();
    if (!from.is_ready() || !to.is_ready()) return false;
    if (from.bytes != to.bytes) {
        give_up(fmt::format("a receive of {} bytes matches a send of {}", to.bytes, from.bytes));
        return true;
    }
    const bool on_host = from.kind == MemoryKind::Host && to.kind == MemoryKind::Host;
    if (copy_ == nullptr && from.bytes > 0) {
        if (on_host)
            std::memcpy(to.target, from.source, from.bytes);
        else
            copy_ = gpu_->copy_on_gpu(to.target, from.source, from.bytes);
    }
    if (copy_ != nullptr && !copy_->reached()) return false;
    copy_.reset();
    unfinished_bytes_ -= from.bytes;
    from.finish();
    to.finish();
    sends_.pop_front();
    receives_.pop_front();
    return true;
}

void LocalChannel::check_limit(std::deque<std::shared_ptr<TransferState>>& transfers,
                               ChannelClock::time_point now, const char* what_is_missing) {
    TransferState& first = *transfers.front();
    if (!first.next_in_order_since) first.next_in_order_since = now;
    if (now - *first.next_in_order_since <= first.limit) return;
    give_up(fmt::format("nothing was {} on the other end within {}", what_is_missing,
                        duration_text(1e-3 * static_cast<double>(first.limit.count()))));
}

void LocalChannel::give_up(const std::string& why) {
    if (failure_.empty())
        failure_ = fmt::format("channel of rank {} on {} to itself: {}", rank_, host_name(), why);
    copy_.reset();
    for (auto* transfers : {&sends_, &receives_}) {
        for (auto& each : *transfers) each->fail(failure_);
        transfers->clear();
    }
    unfinished_bytes_ = 0;
}

}  // namespace voltpile
