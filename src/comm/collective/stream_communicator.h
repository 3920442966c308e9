// Collectives of one group of ranks on the memory of GPUs (or, where there are none, of the host): everything
// is enqueued on a stream, nothing waits for a stream.
//
// Order. All ranks of the group make the same calls with the same counts and types in the same order. The
// calls of one communicator follow each other on one stream, or on streams that are ordered by events. Two
// communicators are independent of each other. Calls come from one thread; check() and abort() from any.
//
// Memory. Buffers are aligned to their elements and no more. `in` and `out` are the same place (in place, as
// each call says) or do not overlap. Counts are in elements; 0 does nothing.
//
// Graphs. All calls can be captured into CUDA graphs (in the relaxed mode, as CollectiveGraph does: NCCL
// enqueues from a thread of its own; after one such call outside, which lets NCCL connect). All ranks launch
// these graphs in the same order, mixed with other calls or not. Destroy graphs before the communicator.
//
// Results. Sums of fp16 round once if a kernel of ours or the host makes them (in fp32, in the order of the
// ranks), and at every step if NCCL does. Which it is depends on the size alone (describe()); whoever does
// it, all ranks get the same bits, in every run with the same choice. PathChoice::Peer sums every size in the
// order of the ranks. The largest of numbers and NaN is open.
//
// Failure. A rank that is gone makes the others wait. check() sees that after the deadline, calls the group's
// work off so that streams come free, and throws CommError with the names of the hosts; what the group has
// computed by then is worthless, and every later call throws CommError as well. The other ranks of the host
// are told: results count once a check() after they were done has not thrown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective/types.h"
#include "comm/mpi/communicator.h"
#include "device/stream.h"

namespace voltpile {

// Where a call happens: on a stream, or on the host, where it has happened when the call returns.
class StreamRef {
  public:
    StreamRef(const Stream& stream) : stream_(&stream) {}  // implicit: a stream is one
    static StreamRef host() { return StreamRef(); }

    bool is_host() const { return stream_ == nullptr; }
    const Stream& stream() const { return *stream_; }  // not of the host

  private:
    StreamRef() = default;
    const Stream* stream_ = nullptr;
};

class StreamCommunicator {
  public:
    // Collective: every rank destroys. Streams that work for it must be idle.
    virtual ~StreamCommunicator() = default;
    StreamCommunicator(const StreamCommunicator&) = delete;
    StreamCommunicator& operator=(const StreamCommunicator&) = delete;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    // out[i] = in[i] of all ranks reduced. in, out: (count). In place: out == in.
    virtual void all_reduce(const void* in, void* out, std::int64_t count, ElementType type,
                            Reduction reduction, StreamRef stream) = 0;

    // out[r * count + i] = in[i] of rank r. in: (count), out: (size * count). In place: in == out + rank *
    // count.
    virtual void all_gather(const void* in, void* out, std::int64_t count, ElementType type,
                            StreamRef stream) = 0;

    // out[i] = in[rank * count + i] of all ranks reduced. in: (size * count), out: (count).
    // In place: out == in + rank * count; the rest of `in` is kept.
    virtual void reduce_scatter(const void* in, void* out, std::int64_t count, ElementType type,
                                Reduction reduction, StreamRef stream) = 0;

    // out[i] = in[i] of the root; the others' `in` is not looked at. In place: out == in.
    virtual void broadcast(const void* in, void* out, std::int64_t count, ElementType type, int root,
                           StreamRef stream) = 0;

    // From rank to rank, in order; not to oneself. A send may wait until its receive has begun: two ranks
    // that send to each other must not both send first.
    virtual void send(const void* in, std::int64_t count, ElementType type, int to, StreamRef stream) = 0;
    virtual void receive(void* out, std::int64_t count, ElementType type, int from, StreamRef stream) = 0;

    // Hook of the watchdog: what is enqueued on this stream by now (graph launches, too) is to be done within
    // the deadline from now. Not while capturing. Costs an event.
    virtual void watch(StreamRef stream) = 0;

    // Throws CommError if the group has failed: a peer gone, or watched work late. Else returns at once.
    virtual void check() = 0;

    // Calls off what is enqueued. Only this rank's: the others find out by their own check(). Not an error.
    virtual void abort() noexcept = 0;

    // Who does what, for people: "all_reduce: to 64 KB one-shot (low latency), to 1 MB two-shot ..., above
    // NCCL".
    virtual std::string describe() const = 0;

  protected:
    StreamCommunicator() = default;
};

enum class PathChoice {
    Auto,    // the fastest for each size, as measured
    Nccl,    // always NCCL
    Peer,    // always our kernels over the links between the GPUs
    Staged,  // always MPI, through host memory
};

struct StreamOptions {
    double deadline_s = 60;
    PathChoice path = PathChoice::Auto;
    // Of measured switch-over sizes; empty: $XDG_CACHE_HOME/voltpile, else ~/.cache/voltpile.
    std::filesystem::path cache_folder;
    bool use_cache = true;  // false: measures again, and keeps that
};

// Collective: every rank calls. device: this rank's GPU as in use_device(), or -1 for host memory; either all
// ranks have a GPU, one each, or none has. Throws CommError, on all ranks, if they differ in that, or if
// `path` is not possible here.
std::unique_ptr<StreamCommunicator> make_stream_communicator(const Communicator& group, int device,
                                                             const StreamOptions& options = {});

}  // namespace voltpile
