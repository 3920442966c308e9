#include "llm/replica/team_links.h"

#include <cstring>

#include "base/error.h"
#include "device/memory.h"

namespace voltpile::llm {
namespace {

// Passes with so many rows are watched layer by layer, because they may take longer than a collective may.
constexpr std::int64_t watched_rows = 512;

}  // namespace

TeamLinks::TeamLinks(const TeamContext& teams, Ops& ops, const Stream* stream, std::int64_t rows,
                     std::int64_t columns, std::unique_ptr<PeerArea> area)
    : teams_(teams), stream_(stream) {
    if (area) sums_ = ops.make_joint_sums(std::move(area), rows, columns);
    if (teams.last_stage()) return;
    for (Slot& slot : slots_)
        slot.memory = ops.allocate(static_cast<std::size_t>(rows * columns) * sizeof(float));
}

TeamLinks::~TeamLinks() {
    for (const Slot& slot : slots_) {
        try {
            slot.sent.wait();
        } catch (const Error&) {
            // The receiver has noticed the lost peer itself.
        }
    }
}

Memory TeamLinks::memory(void* data, std::size_t bytes) const {
    return stream_ != nullptr ? gpu_memory(data, bytes) : host_memory(data, bytes);
}

void TeamLinks::all_reduce(FloatRows x) {
    if (teams_.tensor().size() == 1) return;
    teams_.tensor().all_reduce(x.data, x.data, x.rows * x.columns, ElementType::Float32, Reduction::Sum,
                               where());
    if (x.rows >= watched_rows) watch();
}

void TeamLinks::add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps,
                             SentinelPlace place) {
    sums_->add_rms_norm(x, delta, weight, eps, place);
    if (x.rows >= watched_rows) watch();
}

void TeamLinks::complete(FloatRows x) {
    if (!sums_->splits(x.rows)) return;
    const std::int64_t share = joint_share(x.rows, teams_.tensor().size());
    all_gather({x.data + teams_.tensor().rank() * share * x.columns, share, x.columns}, x);
}

void TeamLinks::all_gather(FloatRows part, FloatRows parts) {
    teams_.tensor().all_gather(part.data, parts.data, part.rows * part.columns, ElementType::Float32,
                               where());
}

void TeamLinks::send_to_next(FloatRows x) {
    const std::size_t bytes = static_cast<std::size_t>(x.rows * x.columns) * sizeof(float);
    Slot& slot = slots_[next_slot_];
    next_slot_ = (next_slot_ + 1) % slots_.size();
    slot.sent.wait();
    if (stream_ != nullptr)
        copy_on_device(slot.memory->data(), x.data, bytes, *stream_);
    else
        std::memcpy(slot.memory->data(), x.data, bytes);
    slot.sent = teams_.next().send(memory(slot.memory->data(), bytes), stream_);
}

void TeamLinks::receive_from_previous(FloatRows x) {
    const std::size_t bytes = static_cast<std::size_t>(x.rows * x.columns) * sizeof(float);
    // Waits on the host and not on the stream: CUDA may have to load a kernel that is enqueued next, waits
    // for the stream while it holds a lock, and the channel's thread needs that lock to make progress.
    teams_.previous().receive(memory(x.data, bytes), stream_, longest_pass).wait();
}

void TeamLinks::watch() {
    if (stream_ != nullptr && teams_.tensor().size() > 1) teams_.tensor().watch(where());
}

void TeamLinks::check() {
    teams_.check();
}

}  // namespace voltpile::llm
