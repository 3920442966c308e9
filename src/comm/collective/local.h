// A group of one rank: copies, or does nothing.
#pragma once

#include <atomic>

#include "comm/collective/stream_communicator.h"

namespace voltpile {

class LocalCommunicator final : public StreamCommunicator {
  public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    void all_reduce(const void* in, void* out, std::int64_t count, ElementType type, Reduction,
                    StreamRef stream) override {
        copy(in, out, count, type, stream);
    }
    void all_gather(const void* in, void* out, std::int64_t count, ElementType type,
                    StreamRef stream) override {
        copy(in, out, count, type, stream);
    }
    void reduce_scatter(const void* in, void* out, std::int64_t count, ElementType type, Reduction,
                        StreamRef stream) override {
        copy(in, out, count, type, stream);
    }
    void all_to_all(const void* in, void* out, std::int64_t count, ElementType type,
                    StreamRef stream) override {
        copy(in, out, count, type, stream);
    }
    void broadcast(const void* in, void* out, std::int64_t count, ElementType type, int,
                   StreamRef stream) override {
        copy(in, out, count, type, stream);
    }
    void send(const void*, std::int64_t, ElementType, int, StreamRef) override { nobody(); }
    void receive(void*, std::int64_t, ElementType, int, StreamRef) override { nobody(); }
    void watch(StreamRef) override {}
    void check() override;
    void abort() noexcept override { aborted_ = true; }
    std::string describe() const override { return "one rank: copies"; }

  private:
    void copy(const void* in, void* out, std::int64_t count, ElementType type, StreamRef stream);
    [[noreturn]] static void nobody();

    std::atomic<bool> aborted_ = false;
};

}  // namespace voltpile
