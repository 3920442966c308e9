// Collectives on GPU memory through the host: copied down, sent over MPI, copied up. The slow fallback for
// GPUs that neither NCCL nor our kernels connect.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "comm/collective/host_communicator.h"
#include "comm/collective/watch.h"
#include "device/buffer.h"

namespace voltpile {

class StagedCommunicator final : public StreamCommunicator {
  public:
    // Collective: every rank calls. The current GPU is this rank's. A thread of its own calls MPI.
    StagedCommunicator(const Communicator& group, double deadline_s);
    ~StagedCommunicator() override;

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
    std::string describe() const override { return "through host memory and MPI for all sizes"; }

  private:
    struct Job {
        StagedCommunicator* owner;
        std::function<void()> work;
        bool again;  // part of a graph, so it runs again
    };
    // Enqueues work() for the thread, in order. Later work on the stream comes after it.
    void enqueue(std::function<void()> work, const Stream& stream);
    static void post(void* job);
    void serve();
    void fail(const std::string& why) noexcept;

    CollectiveWatch watch_;
    HostCommunicator host_;
    CollectiveGroup& group_;
    PinnedBuffer<char> down_;  // size() parts of part_bytes each
    PinnedBuffer<char> up_;
    PinnedBuffer<std::uint64_t> state_;  // jobs done, abort flag
    DeviceBuffer<std::uint64_t> begun_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job*> posted_;
    std::deque<std::unique_ptr<Job>> of_graphs_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace voltpile
