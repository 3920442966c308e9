// Collectives of one group of ranks on GPU memory (or on host memory where there are no GPUs). Calls enqueue
// on a stream and never wait for one.
//
// Order. All ranks of the group make the same calls with the same counts and types in the same order. The
// calls of one communicator follow each other on one stream, or on streams ordered by events. Two
// communicators are independent of each other. Calls come from one thread; check() and abort() from any.
//
// Memory. Buffers are aligned to their elements. `in` and `out` are the same place (in place, as each call
// says) or do not overlap. Counts are in elements; 0 does nothing.
//
// Graphs. All calls can be captured into CUDA graphs (in relaxed mode, as CollectiveGraph does, because NCCL
// enqueues from a thread of its own; after one such call outside, in which NCCL connects). All ranks launch
// these graphs in the same order, mixed with other calls or not. Destroy graphs before the communicator.
//
// Results. Sums of fp16 round once if our kernels or the host compute them (in fp32, in rank order), and at
// every step if NCCL does. The size alone decides which (describe()). All ranks get the same bits, in every
// run with the same choice. PathChoice::Peer sums every size in rank order. The maximum of numbers and NaN is
// unspecified.
//
// Failure. A lost rank makes the others wait. check() notices after the deadline, cancels the group's work so
// that streams come free, and throws CommError with the names of the hosts. What the group has computed by
// then is worthless, and every later call throws CommError too. The other ranks of the host are notified, so
// results count only once a check() after they were done has not thrown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective/peer_area.h"
#include "comm/collective/types.h"
#include "comm/mpi/communicator.h"
#include "device/stream.h"

namespace voltpile {

// Where a call runs: on a stream, or on the host, where it is complete when the call returns.
class StreamRef {
  public:
    StreamRef(const Stream& stream) : stream_(&stream) {}  // implicit: a stream is one
    static StreamRef host() { return StreamRef(); }

    bool is_host() const { return stream_ == nullptr; }
    const Stream& stream() const { return *stream_; }  // not for the host

  private:
    StreamRef() = default;
    const Stream* stream_ = nullptr;
};

// How far the watched work of a group has come on this rank.
struct WatchedWork {
    std::int64_t finished = 0;  // calls of watch() whose work is done
    bool under_way = false;     // more work is watched
};

class StreamCommunicator {
  public:
    // Collective: every rank destroys. Streams that work for it must be idle.
    virtual ~StreamCommunicator() = default;
    StreamCommunicator(const StreamCommunicator&) = delete;
    StreamCommunicator& operator=(const StreamCommunicator&) = delete;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    // out[i] = in[i] reduced over all ranks. in, out: (count). In place: out == in.
    virtual void all_reduce(const void* in, void* out, std::int64_t count, ElementType type,
                            Reduction reduction, StreamRef stream) = 0;

    // out[r * count + i] = in[i] of rank r. in: (count), out: (size * count). In place: in == out + rank *
    // count.
    virtual void all_gather(const void* in, void* out, std::int64_t count, ElementType type,
                            StreamRef stream) = 0;

    // out[i] = in[rank * count + i] reduced over all ranks. in: (size * count), out: (count). In place: out
    // == in + rank * count; the rest of `in` is kept.
    virtual void reduce_scatter(const void* in, void* out, std::int64_t count, ElementType type,
                                Reduction reduction, StreamRef stream) = 0;

    // out[r * count + i] = in[rank * count + i] of rank r. in, out: (size * count). Not in place.
    virtual void all_to_all(const void* in, void* out, std::int64_t count, ElementType type,
                            StreamRef stream) = 0;

    // out[i] = in[i] of the root; the `in` of other ranks is ignored. In place: out == in.
    virtual void broadcast(const void* in, void* out, std::int64_t count, ElementType type, int root,
                           StreamRef stream) = 0;

    // Sends from rank to rank, in order; not to oneself. A send may wait until its receive has begun: two
    // ranks that send to each other must not both send first.
    virtual void send(const void* in, std::int64_t count, ElementType type, int to, StreamRef stream) = 0;
    virtual void receive(void* out, std::int64_t count, ElementType type, int from, StreamRef stream) = 0;

    // Starts the deadline for all work enqueued on this stream so far (graph launches too). Work that was
    // watched before must finish first: its end begins the deadline anew. Costs an event. Does
    // nothing while the stream captures a graph.
    virtual void watch(StreamRef stream) = 0;

    // As of the last check(). On host memory there is nothing to watch.
    virtual WatchedWork watched() const { return {}; }

    // Throws CommError if the group has failed: a peer is gone, or watched work is late. Else returns at
    // once.
    virtual void check() = 0;

    // Cancels what this rank has enqueued. The other ranks find out by their own check(). Not an error.
    virtual void abort() noexcept = 0;

    // Allocates memory on each rank's GPU that the kernels of all ranks reach. Returns null on all ranks
    // where GPUs do not reach each other, or none of our kernels may run. Collective: every rank calls.
    virtual std::unique_ptr<PeerArea> share([[maybe_unused]] std::size_t bytes) { return nullptr; }

    // Describes the algorithms: "all_reduce: to 64 KB one-shot (low latency), to 1 MB two-shot ..., above
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
    // Folder of measured switch-over sizes; empty: $XDG_CACHE_HOME/voltpile, else ~/.cache/voltpile.
    std::filesystem::path cache_folder;
    bool use_cache = true;  // false: measures again and keeps the new table
};

// Collective: every rank calls. device: this rank's GPU as in use_device(), or -1 for host memory. Either
// every rank has its own GPU or none has one. Throws CommError on all ranks if they differ in that, or if
// `path` is not possible here.
std::unique_ptr<StreamCommunicator> make_stream_communicator(const Communicator& group, int device,
                                                             const StreamOptions& options = {});

}  // namespace voltpile
