#if VOLTPILE_UCX

#include "comm/channel/ucx_direction.h"

#include <fmt/format.h>

#include <algorithm>

namespace voltpile {
namespace {

constexpr std::size_t staging_pieces = 4;
constexpr std::size_t large_bytes = 64 << 10;
constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << 28) - 1;
constexpr double slowest_bytes_per_s = 20e6;  // as ChannelOptions::deadline says

}  // namespace

UcxDirection::~UcxDirection() {
    for (void* each : staging_) route_.gpu->release_staging(each);
}

void UcxDirection::accept(std::shared_ptr<TransferState> transfer) {
    ++accepted_;
    unfinished_bytes_ += transfer->bytes;
    transfers_.push_back(std::move(transfer));
}

bool UcxDirection::polls() const {
    if (next_ < transfers_.size() && transfers_[next_]->ready != nullptr) return true;
    return std::any_of(pieces_.begin(), pieces_.end(),
                       [](const Piece& each) { return each.copy != nullptr; });
}

bool UcxDirection::gpu_memory_with_ucx() const {
    return std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& each) {
        return each.transfer->kind == MemoryKind::Gpu && each.staging == nullptr;
    });
}

bool UcxDirection::advance() {
    bool moved = false;
    for (Piece& each : pieces_)
        while (!each.done && advance(each)) moved = true;
    std::erase_if(pieces_, [](const Piece& each) { return each.done; });
    if (failure_.empty() && problem_.empty())
        while (start_piece()) moved = true;
    drop_finished();
    return moved;
}

bool UcxDirection::start_piece() {
    if (next_ >= transfers_.size() || static_cast<int>(pieces_.size()) >= route_.window) return false;
    const auto& transfer = transfers_[next_];
    if (!transfer->is_ready()) return false;

    Piece piece;
    const std::size_t left = transfer->bytes - transfer->started_bytes;
    piece.bytes = route_.in_pieces ? std::min(left, route_.piece_bytes) : left;
    piece.offset = transfer->started_bytes;
    if (transfer->kind == MemoryKind::Gpu && route_.stages && piece.bytes > 0) {
        piece.staging = take_staging();
        if (piece.staging == nullptr) return false;
    }
    piece.transfer = transfer;
    piece.tag = route_.tag | (sequence_++ & sequence_mask);
    transfer->started_bytes += piece.bytes;
    transfer->open_pieces += 1;
    transfer->all_started = transfer->started_bytes == transfer->bytes;
    if (transfer->all_started) ++next_;
    pieces_.push_back(std::move(piece));

    Piece& kept = pieces_.back();
    if (kept.staging != nullptr && sends_)
        kept.copy = route_.gpu->copy_to_host(kept.staging, kept.transfer->source + kept.offset, kept.bytes);
    else
        post(kept);
    while (!kept.done && advance(kept)) {
    }
    if (kept.done) pieces_.pop_back();
    return true;
}

void UcxDirection::post(Piece& piece) {
    piece.operation = std::make_unique<UcxOperation>();
    const bool gpu = piece.transfer->kind == MemoryKind::Gpu && piece.staging == nullptr && piece.bytes > 0;
    if (sends_) {
        const void* data = piece.staging != nullptr ? piece.staging : piece.transfer->source + piece.offset;
        const bool fast = route_.fast != nullptr && piece.bytes >= large_bytes;
        route_.worker.send(fast ? *route_.fast : *route_.connection, data, piece.bytes, piece.tag, gpu,
                           *piece.operation);
    } else {
        void* data = piece.staging != nullptr ? piece.staging : piece.transfer->target + piece.offset;
        route_.worker.receive(data, piece.bytes, piece.tag, gpu, *piece.operation);
    }
}

// Does one step of a piece; returns false if it must wait. A send is copied to the host, then sent. A receive
// is received, then copied to the GPU.
bool UcxDirection::advance(Piece& piece) {
    if (piece.copy != nullptr) {
        if (!piece.copy->reached()) return false;
        piece.copy.reset();
        if (sends_ && failure_.empty())
            post(piece);
        else
            finish(piece);
        return true;
    }
    if (piece.operation == nullptr || !piece.operation->done) return false;
    const UcxOperation result = *piece.operation;
    piece.operation.reset();
    const bool wrong_size = !sends_ && result.error == nullptr && result.bytes != piece.bytes;
    if (problem_.empty() && result.error != nullptr)
        problem_ =
            fmt::format("{} of {}: {}", sends_ ? "send" : "receive", text_of(*piece.transfer), result.error);
    else if (problem_.empty() && wrong_size)
        problem_ = fmt::format(
            "a receive of {} bytes matches a send of another size ({} bytes arrived instead of {})",
            piece.transfer->bytes, result.bytes, piece.bytes);
    const bool arrived = !sends_ && problem_.empty() && failure_.empty() && piece.bytes > 0;
    if (arrived && piece.staging != nullptr) {
        piece.copy =
            route_.gpu->copy_to_gpu(piece.transfer->target + piece.offset, piece.staging, piece.bytes);
        return true;
    }
    if (arrived && piece.transfer->kind == MemoryKind::Gpu && route_.flushes)
        route_.gpu->flush_network_writes();
    finish(piece);
    return true;
}

void UcxDirection::finish(Piece& piece) {
    piece.done = true;
    if (piece.staging != nullptr) free_staging_.push_back(piece.staging);
    TransferState& transfer = *piece.transfer;
    transfer.open_pieces -= 1;
    if (!failure_.empty()) {
        if (transfer.open_pieces == 0) transfer.fail(failure_);
    } else if (problem_.empty() && transfer.all_started && transfer.open_pieces == 0) {
        transfer.finish();
        unfinished_bytes_ -= transfer.bytes;
        ++finished_;
    }
}

void UcxDirection::drop_finished() {
    while (!transfers_.empty() && !transfers_.front()->pending()) {
        transfers_.pop_front();
        if (next_ > 0) --next_;
    }
}

void* UcxDirection::take_staging() {
    if (free_staging_.empty() && staging_.size() < staging_pieces) {
        staging_.push_back(route_.gpu->allocate_staging(route_.piece_bytes));
        free_staging_.push_back(staging_.back());
    }
    if (free_staging_.empty()) return nullptr;
    void* memory = free_staging_.back();
    free_staging_.pop_back();
    return memory;
}

TransferState* UcxDirection::overdue(ChannelClock::time_point now, ChannelClock::duration ahead) {
    if (transfers_.empty() || transfers_.front()->ready != nullptr) return nullptr;
    TransferState& first = *transfers_.front();
    if (!first.next_in_order_since) first.next_in_order_since = now;
    const std::chrono::duration<double> for_its_size(static_cast<double>(first.bytes) / slowest_bytes_per_s);
    return now + ahead - *first.next_in_order_since > first.limit + for_its_size ? &first : nullptr;
}

void UcxDirection::fail(const std::string& why) {
    if (!failure_.empty()) return;
    failure_ = why;
    for (Piece& each : pieces_)
        if (!sends_ && each.operation != nullptr) route_.worker.cancel(*each.operation);
    for (const auto& each : transfers_)
        if (each->open_pieces == 0) each->fail(failure_);
    drop_finished();
}

void UcxDirection::release() {
    for (Piece& each : pieces_) {
        if (each.operation != nullptr && !each.operation->done) {
            route_.worker.abandon(std::move(each.operation));
            if (each.staging != nullptr) std::erase(free_staging_, each.staging);
        }
        each.transfer->fail(failure_);
    }
    pieces_.clear();
    drop_finished();
}

}  // namespace voltpile

#endif
