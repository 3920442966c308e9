#include "comm/channel/transfer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/format.h"
#include "base/phase.h"
#include "comm/channel/engine.h"

namespace voltpile {
namespace {

using Status = TransferState::Status;

void end(TransferState& transfer, Status status) {
    transfer.status.store(status, std::memory_order_release);
    // Streams continue after a failure too: a stream that waits forever could not even be destroyed.
    if (transfer.flag) transfer.gpu->raise_flag(*transfer.flag);
    transfer.flag.reset();
    transfer.ready.reset();
}

}  // namespace

bool TransferState::is_ready() {
    if (ready && ready->reached()) ready.reset();
    return ready == nullptr;
}

void TransferState::finish() {
    if (pending()) end(*this, Status::Done);
}

void TransferState::fail(const std::string& why) {
    if (!pending()) return;
    error = why;
    end(*this, Status::Failed);
}

std::string text_of(const TransferState& transfer) {
    return fmt::format("{} of {} memory", bytes_text(static_cast<double>(transfer.bytes)),
                       transfer.kind == MemoryKind::Gpu ? "GPU" : "host");
}

bool Transfer::done() const {
    if (!state_) return true;
    const Status status = state_->status.load(std::memory_order_acquire);
    if (status == Status::Failed) throw CommError(state_->error);
    return status == Status::Done;
}

void Transfer::wait() const {
    if (!done()) {
        const InPhase waiting(Phase::Transfer);
        state_->engine->wait([this] { return !state_->pending(); });
    }
    done();
}

void Transfer::wait_on(const Stream& stream) const {
    if (done()) return;
    const ChannelEngine::Lock lock(*state_->engine);
    if (done()) return;
    if (state_->gpu == nullptr)
        throw CommError("a stream cannot wait for a transfer of a group that was made without a GPU");
    const bool is_new = !state_->flag;
    if (is_new) state_->flag = state_->gpu->take_flag();
    try {
        state_->gpu->wait_for_flag(stream, *state_->flag);
    } catch (...) {
        if (is_new) {
            state_->gpu->raise_flag(*state_->flag);
            state_->flag.reset();
        }
        throw;
    }
}

}  // namespace voltpile
