#include "comm/collective/peer_communicator.h"

#if VOLTPILE_CUDA

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/format.h"

namespace voltpile {
namespace {

constexpr std::int64_t data_bytes(PeerWire wire) {
    return static_cast<std::int64_t>(slot_data_bytes(wire));
}

PeerAlgorithm algorithm_of(Collective collective, bool two_shot) {
    switch (collective) {
        case Collective::AllReduce:
            return two_shot ? PeerAlgorithm::TwoShot : PeerAlgorithm::OneShot;
        case Collective::AllGather:
            return PeerAlgorithm::AllGather;
        case Collective::ReduceScatter:
            return PeerAlgorithm::ReduceScatter;
        case Collective::AllToAll:
            return PeerAlgorithm::AllToAll;
        case Collective::Broadcast:
            break;
    }
    return PeerAlgorithm::Broadcast;
}

void launch_on(PeerWire wire, PeerAlgorithm algorithm, const PeerView& view, const PeerMessage& message,
               PeerShape shape, const Stream& stream) {
    switch (wire) {
        case PeerWire::LowLatency:
            return launch_low_latency(algorithm, view, message, shape, stream);
        case PeerWire::Flagged:
            return launch_flagged(algorithm, view, message, shape, stream);
    }
}

}  // namespace

PeerShape default_shape(PeerWire wire, std::int64_t bytes) {
    // Each thread moves one step of this size (peer_wire.cuh) until the blocks run out.
    constexpr int threads = 256;
    const std::int64_t block_bytes = wire == PeerWire::LowLatency ? 8 * threads : 16 * threads;
    const std::int64_t most = wire == PeerWire::LowLatency ? 32 : max_peer_blocks;
    const std::int64_t blocks = std::clamp<std::int64_t>((bytes + block_bytes - 1) / block_bytes, 1, most);
    const bool full = blocks == most;
    return {static_cast<int>(blocks), full ? max_peer_threads : threads};
}

PeerPlan default_plan(Collective collective, std::int64_t bytes, int size) {
    const bool reduces = collective == Collective::AllReduce;
    const std::int64_t traffic = reduces ? bytes * (size - 1) : bytes;
    PeerPlan plan;
    if (traffic <= (reduces ? 768 : 128) << 10) plan.wire = PeerWire::LowLatency;
    plan.two_shot = size > 2 && traffic > 384 << 10;
    const bool shares = reduces && plan.two_shot;
    plan.shape = default_shape(plan.wire, shares ? bytes / size : bytes);
    return plan;
}

PeerCommunicator::PeerCommunicator(const Communicator& group, std::unique_ptr<PeerMemory> memory,
                                   double deadline_s)
    : group_(group), memory_(std::move(memory)), watch_(deadline_s) {
    load_low_latency(size());
    load_flagged(size());
    load_send();
}

void PeerCommunicator::set_plan(const PeerPlan* plan) {
    has_plan_ = plan != nullptr;
    if (plan) plan_ = *plan;
}

void PeerCommunicator::run(const Call& call, const Stream& stream) {
    PeerPlan plan = has_plan_ ? plan_ : default_plan(call.collective, call.bytes, size());
    const bool shares = call.collective == Collective::AllReduce && plan.two_shot;
    if (plan.shape.blocks == 0)
        plan.shape = default_shape(plan.wire, shares ? call.bytes / size() : call.bytes);
    const PeerAlgorithm algorithm = algorithm_of(call.collective, plan.two_shot);
    // Shares of a two-shot call are rounded up to whole steps, so a little less than the slots fits.
    const std::int64_t most = shares ? (data_bytes(plan.wire) - 16) * size() : data_bytes(plan.wire);
    const std::int64_t largest = most / 16 * 16;
    for (std::int64_t begin = 0; begin < call.bytes; begin += largest) {
        PeerMessage piece = call.message;
        piece.bytes = static_cast<unsigned>(std::min(largest, call.bytes - begin));
        if (piece.in) piece.in += begin;
        piece.out += begin;
        launch_on(plan.wire, algorithm, memory_->view(), piece, plan.shape, stream);
    }
}

void PeerCommunicator::all_reduce(const void* in, void* out, std::int64_t count, ElementType type,
                                  Reduction reduction, StreamRef stream) {
    if (!group_.begin_reduction(count, type)) return;
    PeerMessage m{static_cast<const char*>(in), static_cast<char*>(out),    0, 0, 0,
                  static_cast<int>(type),       static_cast<int>(reduction)};
    run({Collective::AllReduce, m, count * size_of(type)}, stream.stream());
}

// bytes: of each rank's part.
void PeerCommunicator::move_parts(Collective collective, const void* in, void* out, std::int64_t bytes,
                                  StreamRef stream) {
    constexpr int type = static_cast<int>(ElementType::Byte);
    const PeerMessage m{static_cast<const char*>(in),
                        static_cast<char*>(out),
                        0,
                        0,
                        static_cast<std::size_t>(bytes),
                        type,
                        0};
    run({collective, m, bytes}, stream.stream());
}

void PeerCommunicator::all_gather(const void* in, void* out, std::int64_t count, ElementType type,
                                  StreamRef stream) {
    if (!group_.begin(count)) return;
    move_parts(Collective::AllGather, in, out, count * size_of(type), stream);
}

void PeerCommunicator::reduce_scatter(const void* in, void* out, std::int64_t count, ElementType type,
                                      Reduction reduction, StreamRef stream) {
    if (!group_.begin_reduction(count, type)) return;
    const std::int64_t bytes = count * size_of(type);
    PeerMessage m{
        static_cast<const char*>(in), static_cast<char*>(out),    0, 0, static_cast<std::size_t>(bytes),
        static_cast<int>(type),       static_cast<int>(reduction)};
    run({Collective::ReduceScatter, m, bytes}, stream.stream());
}

void PeerCommunicator::all_to_all(const void* in, void* out, std::int64_t count, ElementType type,
                                  StreamRef stream) {
    if (!group_.begin(count)) return;
    move_parts(Collective::AllToAll, in, out, count * size_of(type), stream);
}

void PeerCommunicator::broadcast(const void* in, void* out, std::int64_t count, ElementType type, int root,
                                 StreamRef stream) {
    if (!group_.begin_with_peer(count, root)) return;
    PeerMessage m{
        static_cast<const char*>(in), static_cast<char*>(out), 0, root, 0, static_cast<int>(type), 0};
    run({Collective::Broadcast, m, count * size_of(type)}, stream.stream());
}

void PeerCommunicator::send(const void* in, std::int64_t count, ElementType type, int to, StreamRef stream) {
    if (!group_.begin_with_peer(count, to)) return;
    const std::int64_t bytes = count * size_of(type);
    const int p = (to - rank() + size()) % size();
    for (std::int64_t begin = 0; begin < bytes; begin += send_slot_bytes)
        launch_send(memory_->view(), p, static_cast<const char*>(in) + begin,
                    static_cast<unsigned>(std::min<std::int64_t>(send_slot_bytes, bytes - begin)),
                    stream.stream());
}

void PeerCommunicator::receive(void* out, std::int64_t count, ElementType type, int from, StreamRef stream) {
    if (!group_.begin_with_peer(count, from)) return;
    const std::int64_t bytes = count * size_of(type);
    const int p = (from - rank() + size()) % size();
    for (std::int64_t begin = 0; begin < bytes; begin += send_slot_bytes)
        launch_receive(memory_->view(), p, static_cast<char*>(out) + begin,
                       static_cast<unsigned>(std::min<std::int64_t>(send_slot_bytes, bytes - begin)),
                       stream.stream());
}

void PeerCommunicator::give_up(const std::string& why) {
    if (group_.fail(why)) memory_->abort();
    throw CommError(group_.failure_text());
}

// A waiting kernel reports again and again, with a clock; a running one falls silent.
void PeerCommunicator::check() {
    if (group_.failed()) {
        abort();  // here, too
        throw CommError(group_.failure_text());
    }
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> deadline(watch_.deadline_s());
    {
        const std::lock_guard lock(stall_mutex_);
        const unsigned long long report = memory_->stall();
        if (report != stall_) {
            const auto call_of = [](unsigned long long r) { return r >> 8 & 0xffffff; };
            const bool silent_between = now - stall_seen_ > std::max(0.5 * deadline, decltype(deadline)(1));
            if (stall_ == 0 || call_of(report) != call_of(stall_) || silent_between) stall_since_ = now;
            stall_ = report;
            stall_seen_ = now;
            if (now - stall_since_ > deadline)
                give_up(fmt::format("waited {} for {} in a collective", duration_text(watch_.deadline_s()),
                                    group_.rank_text(static_cast<int>(report & 0xff) - 1)));
        }
    }
    if (watch_.late())
        give_up(fmt::format("a collective with {} did not finish within {}", group_.others_text(),
                            duration_text(watch_.deadline_s())));
}

void PeerCommunicator::abort() noexcept {
    if (group_.fail()) memory_->abort();
}

std::string PeerCommunicator::describe() const {
    return fmt::format("kernels over {} for all sizes", over_nvlink() ? "NVLink" : "PCIe");
}

}  // namespace voltpile

#endif
