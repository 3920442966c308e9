// Ordered point-to-point transfers between two ranks, in both directions at once: pipeline stages hand over
// their activations this way. The n-th receive() of one end takes the n-th send() of the other, and must name
// the same number of bytes. Both calls return at once with a Transfer.
//
//   Channel& next = group.channel(rank + 1);
//   Transfer sent = next.send(gpu_memory(out.data(), out.bytes()), &stream);
//   Transfer came = previous.receive(gpu_memory(in.data(), in.bytes()), &stream);
//   came.wait_on(stream);  // later work on `stream` sees the data; the host does not wait
//   came.wait();           // the host waits; throws CommError if the data did not arrive
//
// Errors. A peer that is gone, silent or stuck is noticed within ChannelOptions::deadline. All transfers with
// it then fail with a CommError that names both ranks and their hosts, and so does every later call on a
// channel to it, at once. Their buffers must then stay valid until the group has ended, because the network
// cannot always cancel what it has begun. Calls are safe from any thread, but two threads that send on one
// channel determine the order themselves.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace voltpile {

class Stream;
struct TransferState;

enum class MemoryKind { Host, Gpu };  // Host: plain or pinned; Gpu: on the GPU of ChannelOptions::gpu

struct ConstMemory {
    const void* data = nullptr;
    std::size_t bytes = 0;
    MemoryKind kind = MemoryKind::Host;
};

struct Memory {
    void* data = nullptr;
    std::size_t bytes = 0;
    MemoryKind kind = MemoryKind::Host;
    operator ConstMemory() const { return {data, bytes, kind}; }
};

inline Memory host_memory(void* data, std::size_t bytes) {
    return {data, bytes, MemoryKind::Host};
}
inline ConstMemory host_memory(const void* data, std::size_t bytes) {
    return {data, bytes, MemoryKind::Host};
}
inline Memory gpu_memory(void* data, std::size_t bytes) {
    return {data, bytes, MemoryKind::Gpu};
}
inline ConstMemory gpu_memory(const void* data, std::size_t bytes) {
    return {data, bytes, MemoryKind::Gpu};
}

// max_in_flight and staging_bytes must be the same on all ranks of a group.
struct ChannelOptions {
    int gpu = -1;             // the GPU of this rank's GPU buffers; -1: none
    std::string net_devices;  // to use of this host, as in UCX_NET_DEVICES ("mlx5_0:1", "eth0"); empty: all
                              // that lead anywhere, or what UCX_NET_DEVICES says

    // A transfer must be done within this time plus a second per 20 MB, counted from when it is next in order
    // and its data is ready. A peer that gives no sign of life for this long counts as lost.
    std::chrono::milliseconds deadline{30'000};

    // The most sends of a channel that the peer has not received yet, as far as this rank knows (the peer
    // reports every quarter of this number). It bounds what piles up at the peer.
    int max_in_flight = 64;
    // The most bytes of a channel's unfinished sends; a single larger send may pass.
    std::size_t max_bytes_in_flight = std::size_t{1} << 30;

    // A thread that waits for a transfer moves it itself for this long, which takes a core, and then sleeps:
    // waking up costs about 0.1 ms.
    std::chrono::microseconds patience{200};

    bool stage_gpu_buffers =
        false;  // stage GPU buffers through pinned memory even where UCX could do without
    std::size_t staging_bytes = std::size_t{1} << 20;  // of a piece; each direction of a channel holds four
};

// A send or a receive in flight. Copies refer to the same transfer; dropping them all does not stop it. The
// buffer belongs to the channel until the transfer is done or has failed.
class Transfer {
  public:
    Transfer() = default;  // a transfer that is done
    explicit Transfer(std::shared_ptr<TransferState> state) : state_(std::move(state)) {}

    // Returns true once the buffer of a send may be changed, or the data of a receive has arrived. Never
    // waits. Throws CommError if the transfer failed.
    bool done() const;

    // Waits on the host until done. Throws CommError if it failed, at the latest at its deadline.
    void wait() const;

    // Makes work enqueued on `stream` after this call wait for the transfer; returns at once. If the transfer
    // fails the stream continues (with whatever is in the buffer), so call done() or wait() before using
    // results. Do not call it while `stream` is being captured: put it between graph launches. Throws
    // CommError if the transfer has failed already, DeviceError if the GPU cannot wait for memory.
    void wait_on(const Stream& stream) const;

  private:
    std::shared_ptr<TransferState> state_;
};

class Channel {
  public:
    virtual ~Channel() = default;

    // Sends once the work that `after` holds now is done (nullptr: the data is ready). Waits while the
    // channel is full (ChannelOptions::max_in_flight); throws CommError if it stays full until the deadline.
    // `after` must not be in capture.
    virtual Transfer send(ConstMemory memory, const Stream* after = nullptr) = 0;

    // As send(), but returns nothing and sends nothing if the channel is full. Never waits.
    virtual std::optional<Transfer> try_send(ConstMemory memory, const Stream* after = nullptr) = 0;

    // Writes to the buffer once the work that `after` holds now is done. limit: replaces
    // ChannelOptions::deadline if the peer is known to compute for longer before it sends.
    virtual Transfer receive(Memory memory, const Stream* after = nullptr,
                             std::optional<std::chrono::milliseconds> limit = std::nullopt) = 0;

    virtual int in_flight() const = 0;  // sends, as max_in_flight counts them
    virtual int peer() const = 0;       // the rank at the other end
};

}  // namespace voltpile
