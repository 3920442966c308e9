// Measures how fast the collectives of a group are, algorithm by algorithm.
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
                             << 30;   // of each rank's part or of the whole, as in CollectiveTable
    int factor = 2;                   // each size is this many times the one before
    bool in_graph = true;             // many calls in one CUDA graph; else enqueued one by one
    double seconds_per_point = 0.02;  // approximate; at least 3 launches
    std::string path;                 // measure only algorithms whose names contain this
};

struct CollectiveBenchRow {
    Collective collective = Collective::AllReduce;
    std::string way;  // "nccl", "one-shot low-latency", ..., "auto": what make_stream_communicator chose
    std::int64_t bytes = 0;  // of the message
    bool in_graph = true;
    bool on_host = false;  // in host memory
    double seconds = 0;    // median of a call on the slowest rank
    // Algorithm bandwidth: bytes / seconds; for all_gather and reduce_scatter the gathered bytes. Bus
    // bandwidth: the least that a link must carry, as nccl-tests defines it.
    double algorithm_bytes_per_s = 0;
    double bus_bytes_per_s = 0;
};

// Returns the factor from algorithm bandwidth to bus bandwidth.
double bus_factor(Collective collective, int ranks);

// Collective: every rank calls, and all get the same rows. device: this rank's GPU. Uses GPU memory of twice
// the largest message (times the ranks for all_gather and reduce_scatter). Throws CommError if the GPUs of
// the group cannot reach each other.
std::vector<CollectiveBenchRow> bench_collective(const Communicator& group, int device, Collective collective,
                                                 const CollectiveBenchOptions& options);

// The same on host memory: our collectives, which sum in rank order, beside MPI's own.
std::vector<CollectiveBenchRow> bench_host_collective(const Communicator& group, Collective collective,
                                                      const CollectiveBenchOptions& options);

// Returns the candidate algorithms for n GPUs (the links decide which are usable), or for host memory.
std::vector<std::string> collective_way_names(Collective collective, int ranks);
std::vector<std::string> host_collective_way_names();

// One line per size, one column per algorithm: microseconds, and the bus bandwidth of the best.
std::string to_text(const std::vector<CollectiveBenchRow>& rows);

struct ShapeBenchRow {
    std::string way;
    int blocks = 0;
    int threads = 0;
    std::int64_t bytes = 0;
    double seconds = 0;
};

// For tuning the kernels: all_reduce of our kernels with every wire, in a graph, by blocks and threads.
std::vector<ShapeBenchRow> bench_shapes(const Communicator& group, int device,
                                        const std::vector<std::int64_t>& sizes);

}  // namespace voltpile
