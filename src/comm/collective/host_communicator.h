// Collectives on host memory over MPI: each is complete when the call returns. For ranks without GPUs, and
// beneath collectives of GPUs through host memory (staged_communicator.h). Slow and simple.
//
// A call that has failed may leave messages with MPI that can be neither canceled nor finished. Their memory,
// the call's `in` and `out` included, belongs to MPI until the process ends: keep it (left_unfinished()).
#pragma once

#include <span>
#include <vector>

#include "comm/collective/group.h"

namespace voltpile {

class HostCommunicator final : public StreamCommunicator {
  public:
    // Collective: every rank calls. The thread that owns `group` makes the calls, or after set_own_thread()
    // the first thread that calls.
    HostCommunicator(const Communicator& group, double deadline_s);
    ~HostCommunicator() override;

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
    void watch(StreamRef) override {}  // each call has its own deadline
    void check() override;
    void abort() noexcept override { group_.fail(); }
    CollectiveGroup& group() { return group_; }
    void set_own_thread() { mpi_.set_own_thread(); }
    bool left_unfinished() const { return left_unfinished_; }  // true after such a failure
    std::string describe() const override { return "MPI on host memory for all sizes"; }

  private:
    struct Part {
        int peer;
        void* data;  // only read if it is sent
        std::int64_t bytes;
    };
    // Sends and receives all parts. Throws CommError at the deadline.
    void exchange(std::span<const Part> sends, std::span<const Part> receives, int tag);
    void wait(std::vector<MPI_Request>& requests);
    void take_back(std::span<MPI_Request> requests, std::size_t receives) noexcept;
    // Sets scratch_ to the reduction of everybody's count elements at in + r * stride on rank r.
    void reduce_share(const char* in, std::int64_t stride, std::span<const std::int64_t> counts,
                      ElementType type, Reduction reduction);

    Communicator mpi_;  // used for these messages only
    CollectiveGroup group_;
    double deadline_s_;
    bool left_unfinished_ = false;
    std::vector<char> scratch_;
};

}  // namespace voltpile
