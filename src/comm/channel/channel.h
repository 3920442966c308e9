// Ordered point-to-point transfers between two ranks, both ways at once: how pipeline stages hand over their
// activations. The n-th receive() of one end takes the n-th send() of the other, and must name the same
// number of bytes. Both calls return at once; what is under way is held as a Transfer.
//
//   Channel& next = group.channel(rank + 1);
//   Transfer sent = next.send(gpu_memory(out.data(), out.bytes()), &stream);  // once `stream` has computed
//   it Transfer came = previous.receive(gpu_memory(in.data(), in.bytes()), &stream); came.wait_on(stream); //
//   later work on `stream` sees what arrived; nothing waits on the host
//   ...
//   came.wait();  // on the host, later: throws CommError if it did not arrive
//
// Errors: a peer that is gone, silent or stuck is noticed within ChannelOptions::deadline. All transfers with
// it then fail with a CommError that names both ranks and their hosts, and so does every later call on a
// channel to it, at once. Their buffers must then stay valid until the group has ended: what the network has
// begun cannot always be taken back. Calls are safe from any thread, but the order of two threads' sends on
// one channel is whatever they make it.
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
    int gpu = -1;             // the GPU of this rank's GPU buffers; -1: it has none
    std::string net_devices;  // to use of this host, as in UCX_NET_DEVICES ("mlx5_0:1", "eth0"); empty: all
                              // that lead anywhere, or what UCX_NET_DEVICES says

    // A transfer must be done within this time, and a further second for every 20 MB, counted from when it is
    // next in order and its data ready. A peer that gives no sign of life for as long counts as lost.
    std::chrono::milliseconds deadline{30'000};

    // A channel's sends that the peer has not yet received, as far as is known (it tells every quarter of
    // this number): their number bounds what piles up there.
    int max_in_flight = 64;
    // A channel's sends that are not done; a single larger one is let through.
    std::size_t max_bytes_in_flight = std::size_t{1} << 30;

    // A thread that waits for a transfer moves it itself for so long, taking up a core, and sleeps then:
    // waking up costs some 0.1 ms.
    std::chrono::microseconds patience{200};

    bool stage_gpu_buffers = false;  // GPU buffers go through pinned memory even where UCX could do without
    std::size_t staging_bytes = std::size_t{1}
                                << 20;  // a piece of it; each direction of a channel holds four
};

// A send or a receive under way. Copies stand for the same transfer; dropping them all does not stop it. The
// buffer is the channel's until the transfer is done or has failed.
class Transfer {
  public:
    Transfer() = default;  // done
    explicit Transfer(std::shared_ptr<TransferState> state) : state_(std::move(state)) {}

    // A send is done when its buffer may be changed, a receive when its data is there. Never waits.
    // Throws CommError if the transfer failed.
    bool done() const;

    // Waits on the host until done. Throws CommError if it failed, at the latest when its deadline is over.
    void wait() const;

    // Work enqueued on `stream` after this call runs when the transfer is done; returns at once. If the
    // transfer fails the stream goes on (with whatever is in the buffer), so ask done() or wait() before
    // results are used. Not while `stream` is being captured: put it between graph launches.
    // Throws CommError if it has failed already, DeviceError if the GPU cannot wait for memory.
    void wait_on(const Stream& stream) const;

  private:
    std::shared_ptr<TransferState> state_;
};

class Channel {
  public:
    virtual ~Channel() = default;

    // Sends when the present work of `after` is done (nullptr: the data is ready). Waits while the channel is
    // full (ChannelOptions::max_in_flight); CommError if it stays full for the deadline.
    // `after` must not be in capture.
    virtual Transfer send(ConstMemory memory, const Stream* after = nullptr) = 0;

    // Never waits: nothing, and nothing sent, if the channel is full.
    virtual std::optional<Transfer> try_send(ConstMemory memory, const Stream* after = nullptr) = 0;

    // The buffer is written to only when the present work of `after` is done. limit: in place of
    // ChannelOptions::deadline, where the peer is known to compute for longer before it sends.
    virtual Transfer receive(Memory memory, const Stream* after = nullptr,
                             std::optional<std::chrono::milliseconds> limit = std::nullopt) = 0;

    virtual int in_flight() const = 0;  // sends, as max_in_flight counts them
    virtual int peer() const = 0;       // rank at the other end
};

}  // namespace voltpile
