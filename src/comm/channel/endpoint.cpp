#include "comm/channel/endpoint.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/format.h"

namespace voltpile {

void ChannelEndpoint::check() const {
    if (!failure().empty()) throw CommError(failure());
}

bool ChannelEndpoint::has_room(std::size_t bytes) const {
    const std::size_t unfinished = unfinished_bytes();
    return unreceived_sends() < options_.max_in_flight &&
           (unfinished == 0 || unfinished + bytes <= options_.max_bytes_in_flight);
}

std::shared_ptr<TransferState> ChannelEndpoint::make(std::size_t bytes, MemoryKind kind,
                                                     const Stream* after) const {
    if (gpu_ == nullptr && (kind == MemoryKind::Gpu || after != nullptr))
        throw CommError("GPU buffers and streams need a channel group that was made with a GPU");
    auto transfer = std::make_shared<TransferState>();
    transfer->engine = &engine_;
    transfer->gpu = gpu_;
    transfer->bytes = bytes;
    transfer->kind = kind;
    transfer->limit = options_.deadline;
    if (after != nullptr) transfer->ready = gpu_->mark(*after);
    return transfer;
}

std::optional<Transfer> ChannelEndpoint::try_send(ConstMemory memory, const Stream* after) {
    const ChannelEngine::Lock lock(engine_);
    check();
    if (!has_room(memory.bytes)) return std::nullopt;
    auto transfer = make(memory.bytes, memory.kind, after);
    transfer->source = static_cast<const std::byte*>(memory.data);
    accept_send(transfer);
    engine_.changed();
    return Transfer(std::move(transfer));
}

Transfer ChannelEndpoint::send(ConstMemory memory, const Stream* after) {
    std::optional<Transfer> sent = try_send(memory, after);
    std::optional<ChannelClock::time_point> begin;
    while (!sent) {
        engine_.wait([&] {
            if (!begin) begin = engine_.time();
            if (failure().empty() && !has_room(memory.bytes) && engine_.time() - *begin > options_.deadline)
                give_up(fmt::format("{} sends are not received within {}", unreceived_sends(),
                                    duration_text(1e-3 * static_cast<double>(options_.deadline.count()))));
            return !failure().empty() || has_room(memory.bytes);
        });
        sent = try_send(memory, after);
    }
    return *sent;
}

Transfer ChannelEndpoint::receive(Memory memory, const Stream* after,
                                  std::optional<std::chrono::milliseconds> limit) {
    const ChannelEngine::Lock lock(engine_);
    check();
    auto transfer = make(memory.bytes, memory.kind, after);
    transfer->target = static_cast<std::byte*>(memory.data);
    if (limit) transfer->limit = *limit;
    accept_receive(transfer);
    engine_.changed();
    return Transfer(std::move(transfer));
}

int ChannelEndpoint::in_flight() const {
    const ChannelEngine::Lock lock(engine_);
    return unreceived_sends();
}

}  // namespace voltpile
