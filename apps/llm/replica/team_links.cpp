#include "llm/replica/team_links.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "device/memory.h"

namespace voltpile::llm {
namespace {

// Passes with so many rows are watched layer by layer, because they may take longer than a collective may.
constexpr std::int64_t watched_rows = 512;

// So many numbers take longer to hand on than the ranks of a group take to gather them.
constexpr std::int64_t least_shared_numbers = 1 << 15;
static_assert(least_shared_numbers <= most_whole_numbers, "ranks may have only their share of more");

}  // namespace

TeamLinks::TeamLinks(const TeamContext& teams, Ops& ops, const Stream* stream, std::int64_t rows,
                     std::int64_t columns, std::int64_t state_columns, std::unique_ptr<PeerArea> area)
    : teams_(teams), stream_(stream), state_bytes_(bytes_of(ops.hidden_element())) {
    if (area) sums_ = ops.make_joint_sums(std::move(area), rows, columns);
    if (teams.last_stage()) return;
    for (Slot& slot : slots_)
        slot.memory = ops.allocate(bytes_of_rows(FloatRows{nullptr, rows, columns}) +
                                   bytes_of_rows(HiddenRows{nullptr, rows, state_columns}));
}

TeamLinks::~TeamLinks() {
    for (const Slot& slot : slots_) {
        for (const Transfer* const sent : {&slot.x_sent, &slot.states_sent}) {
            try {
                sent->wait();
            } catch (const Error&) {
                // The receiver has noticed the lost peer itself.
            }
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
    if (sums_->splits(x.rows)) gather_shares(x);
}

void TeamLinks::gather_shares(FloatRows x) {
    const std::int64_t share = joint_share(x.rows, teams_.tensor().size());
    all_gather({x.data + teams_.tensor().rank() * share * x.columns, share, x.columns}, x);
}

void TeamLinks::all_gather(FloatRows part, FloatRows parts) {
    teams_.tensor().all_gather(part.data, parts.data, part.rows * part.columns, ElementType::Float32,
                               where());
}

void TeamLinks::all_to_all(HiddenRows in, HiddenRows out) {
    teams_.tensor().all_to_all(in.data, out.data, in.rows / teams_.tensor().size() * in.columns,
                               state_bytes_ == sizeof(float) ? ElementType::Float32 : ElementType::Float16,
                               where());
    if (in.rows >= watched_rows) watch();
}

bool TeamLinks::hands_on_shares(FloatRows x) const {
    return teams_.tensor().size() > 1 && x.rows * x.columns >= least_shared_numbers;
}

FloatRows TeamLinks::share_of(FloatRows x) const {
    const std::int64_t share = joint_share(x.rows, teams_.tensor().size());
    const std::int64_t begin = std::min(teams_.tensor().rank() * share, x.rows);
    return {x.data + begin * x.columns, std::min(share, x.rows - begin), x.columns};
}

void TeamLinks::send_to_next(FloatRows x, HiddenRows states) {
    const FloatRows mine = hands_on_shares(x) ? share_of(x) : x;
    Slot& slot = slots_[next_slot_];
    next_slot_ = (next_slot_ + 1) % slots_.size();
    slot.x_sent.wait();
    slot.states_sent.wait();
    auto* const memory = static_cast<std::byte*>(slot.memory->data());
    slot.x_sent = mine.rows > 0 ? send(memory, mine.data, bytes_of_rows(mine)) : Transfer();
    if (states.data != nullptr)
        slot.states_sent = send(memory + bytes_of_rows(x), states.data, bytes_of_rows(states));
}

Transfer TeamLinks::send(void* slot, const void* from, std::size_t bytes) {
    if (stream_ != nullptr)
        copy_on_device(slot, from, bytes, *stream_);
    else
        std::memcpy(slot, from, bytes);
    return teams_.next().send(memory(slot, bytes), stream_);
}

void TeamLinks::receive_from_previous(FloatRows x, HiddenRows states) {
    const bool shares = hands_on_shares(x);
    const FloatRows mine = shares ? share_of(x) : x;
    if (mine.rows > 0) receive(mine.data, bytes_of_rows(mine));
    if (states.data != nullptr) receive(states.data, bytes_of_rows(states));
    if (shares) gather_shares(x);
}

void TeamLinks::receive(void* to, std::size_t bytes) {
    // Waits on the host and not on the stream: CUDA may have to load a kernel that is enqueued next, waits
    // for the stream while it holds a lock, and the channel's thread needs that lock to make progress.
    teams_.previous().receive(memory(to, bytes), stream_, longest_pass).wait();
}

void TeamLinks::watch() {
    if (stream_ != nullptr && teams_.tensor().size() > 1) teams_.tensor().watch(where());
}

void TeamLinks::check() {
    teams_.check();
}

}  // namespace voltpile::llm
