// Picks the fastest algorithm for each size, NCCL or our kernels, from a table. Only for sources with CUDA.
#pragma once

#include <memory>

#include "comm/collective/peer_communicator.h"
#include "comm/collective/table.h"

namespace voltpile {

class CollectiveSelector final : public StreamCommunicator {
  public:
    // nccl, peer: at most one of them is null. Without a table it uses NCCL if there is one, else our kernels
    // by their own rule.
    CollectiveSelector(std::unique_ptr<StreamCommunicator> nccl, std::unique_ptr<PeerCommunicator> peer);

    // The same table on all ranks.
    void set_table(const CollectiveTable& table) { table_ = table; }

    // Collective: every rank calls. Measures all candidates at all sizes on the current GPU, which takes
    // seconds. All ranks get the same table.
    CollectiveTable measure(const Communicator& group);

    int rank() const override { return any().rank(); }
    int size() const override { return any().size(); }
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
    // Uses our kernels if there are any: NCCL must not be aborted while one of them waits on the GPU, because
    // it waits for the GPU in turn.
    void watch(StreamRef stream) override {
        if (peer_)
            peer_->watch(stream);
        else
            nccl_->watch(stream);
    }
    WatchedWork watched() const override { return peer_ ? peer_->watched() : nccl_->watched(); }
    void check() override;
    void abort() noexcept override;
    std::string describe() const override;
    std::unique_ptr<PeerArea> share(std::size_t bytes) override {
        return peer_ ? peer_->share(bytes) : nullptr;
    }

  private:
    StreamCommunicator& any() const;
    // Returns the implementation that runs the call, with its plan set.
    StreamCommunicator& by(const CollectiveWay& way);
    StreamCommunicator& chosen(Collective collective, std::int64_t bytes);

    std::unique_ptr<StreamCommunicator> nccl_;
    std::unique_ptr<PeerCommunicator> peer_;
    std::optional<CollectiveTable> table_;
};

}  // namespace voltpile
