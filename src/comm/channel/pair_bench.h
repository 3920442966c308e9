// Measures how fast two ranks exchange data, path by path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/channel/group.h"
#include "comm/mpi/communicator.h"

namespace voltpile {

struct PairBenchOptions {
    std::vector<std::int64_t> sizes;  // bytes of a message
    double seconds_per_point = 0.02;  // approximate
    std::string path;                 // measure only paths whose names contain this
    int device = -1;                  // this rank's GPU; -1: host memory only
};

struct PairBenchRow {
    std::string way;  // "channel", "mpi"; of GPU memory "channel (GPU)", "nccl", "peer copy"
    std::int64_t bytes = 0;
    double one_way_s = 0;    // half a round trip, or one copy; median
    double bytes_per_s = 0;  // of many messages in flight; median
};

// All candidate paths; the links between two ranks decide which exist.
std::vector<std::string> pair_way_names(bool on_gpus);

// Collective over the two ranks of `pair`, whose rank 0 gets the rows. channels: of a group that has both;
// peer: the other rank's number there.
std::vector<PairBenchRow> bench_pair(const Communicator& pair, ChannelGroup& channels, int peer,
                                     const PairBenchOptions& options);

}  // namespace voltpile
