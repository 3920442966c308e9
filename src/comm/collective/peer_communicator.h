// Collectives by our own kernels, over the links between the GPUs of one host.
#pragma once

#include <chrono>
#include <mutex>

#include "comm/collective/group.h"
#include "comm/collective/peer_kernels.h"
#include "comm/collective/peer_memory.h"
#include "comm/collective/watch.h"

namespace voltpile {

// The choices for one collective.
struct PeerPlan {
    PeerWire wire = PeerWire::Flagged;
    bool two_shot = false;  // all_reduce only
    PeerShape shape;        // blocks == 0: default_shape()
};

// Returns blocks and threads for a piece of this size.
PeerShape default_shape(PeerWire wire, std::int64_t bytes);

// Returns the plan to use if nothing was measured.
PeerPlan default_plan(Collective collective, std::int64_t bytes, int size);

class PeerCommunicator final : public StreamCommunicator {
  public:
    // Collective: every rank calls.
    PeerCommunicator(const Communicator& group, std::unique_ptr<PeerMemory> memory, double deadline_s);

    int rank() const override { return group_.rank(); }
    int size() const override { return group_.size(); }
    void all_reduce(const void* in, void* out, std::int64_t count, ElementType type, Reduction reduction,
                    StreamRef stream) override;
    void all_gather(const void* in, void* out, std::int64_t count, ElementType type,
                    StreamRef stream) override;
    void reduce_scatter(const void* in, void* out, std::int64_t count, ElementType type, Reduction reduction,
                        StreamRef stream) override;
    void all_to_all(const void* in, void* out, std::int64_t count, ElementType type,
                    StreamRef stream) override;
    void broadcast(const void* in, void* out, std::int64_t count, ElementType type, int root,
                   StreamRef stream) override;
    void send(const void* in, std::int64_t count, ElementType type, int to, StreamRef stream) override;
    void receive(void* out, std::int64_t count, ElementType type, int from, StreamRef stream) override;
    void watch(StreamRef stream) override { watch_.watch(stream.stream()); }
    WatchedWork watched() const override { return watch_.watched(); }
    void check() override;
    void abort() noexcept override;
    std::string describe() const override;
    std::unique_ptr<PeerArea> share(std::size_t bytes) override { return memory_->share(bytes); }

    // Sets how the next calls of this kind run, whatever their size; null: default_plan(). The same on all
    // ranks.
    void set_plan(const PeerPlan* plan);

    bool over_nvlink() const { return memory_->over_nvlink(); }

  private:
    struct Call {
        Collective collective;
        PeerMessage message;  // the whole call: in, out, root, type, reduction, stride
        std::int64_t bytes;   // of each rank's part, or of the whole
    };
    void run(const Call& call, const Stream& stream);
    void move_parts(Collective collective, const void* in, void* out, std::int64_t bytes, StreamRef stream);
    [[noreturn]] void give_up(const std::string& why);

    CollectiveGroup group_;
    std::unique_ptr<PeerMemory> memory_;
    CollectiveWatch watch_;
    PeerPlan plan_;
    bool has_plan_ = false;

    std::mutex stall_mutex_;
    unsigned long long stall_ = 0;  // the last report, and when it and its call were first seen
    std::chrono::steady_clock::time_point stall_seen_;
    std::chrono::steady_clock::time_point stall_since_;
};

}  // namespace voltpile
