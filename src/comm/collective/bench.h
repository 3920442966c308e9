// How fast the collectives of a group are, each way side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/collective/types.h"
#include "comm/mpi/communicator.h"

namespace voltpile {

struct CollectiveBenchOptions {
    std::int64_t min_bytes = 8;
    std::int64_t max_bytes = std::int64_t{1}
                             << 30;   // of each rank's part, or of the whole, as in CollectiveTable
    int factor = 2;                   // from size to size
    bool in_graph = true;             // many calls in one CUDA graph; else enqueued one by one
    double seconds_per_point = 0.02;  // about; at least 3 launches
    std::string path;                 // measure only ways whose names contain this
};

struct CollectiveBenchRow {
    Collective collective = Collective::AllReduce;
    std::string way;  // "nccl", "one-shot low-latency", ..., "auto": what make_stream_communicator chose
    std::int64_t bytes = 0;  // of the message
    bool in_graph = true;
    bool on_host = false;  // in host memory
    double seconds = 0;    // a call, of the slowest rank; median
    // Algorithm bandwidth: bytes / seconds, of all_gather and reduce_scatter the gathered ones. Bus
    // bandwidth: what a link must carry at least, as nccl-tests defines it.
    double algorithm_bytes_per_s = 0;
    double bus_bytes_per_s = 0;
};

// bus bandwidth = this * algorithm bandwidth.
double bus_factor(Collective collective, int ranks);

// Collective: every rank calls; the same rows on all. device: this rank's GPU. Takes GPU memory of twice the
// largest message (times the ranks for all_gather and reduce_scatter). Throws CommError where the group has
// no GPUs that reach each other.
std::vector<CollectiveBenchRow> bench_collective(const Communicator& group, int device, Collective collective,
                                                 const CollectiveBenchOptions& options);

// The same on host memory: ours, which sum in the order of the ranks, beside MPI's own.
std::vector<CollectiveBenchRow> bench_host_collective(const Communicator& group, Collective collective,
                                                      const CollectiveBenchOptions& options);

// The ways that there may be between so many GPUs, of which their links decide; and those on host memory.
std::vector<std::string> collective_way_names(Collective collective, int ranks);
std::vector<std::string> host_collective_way_names();

// A line for each size, a column for each way: microseconds, and bus bandwidth of the best.
std::string to_text(const std::vector<CollectiveBenchRow>& rows);

struct ShapeBenchRow {
    std::string way;
    int blocks = 0;
    int threads = 0;
    std::int64_t bytes = 0;
    double seconds = 0;
};

// For those who tune the kernels: all_reduce of our kernels with every wire, in a graph, by blocks and
// threads.
std::vector<ShapeBenchRow> bench_shapes(const Communicator& group, int device,
                                        const std::vector<std::int64_t>& sizes);

}  // namespace voltpile
