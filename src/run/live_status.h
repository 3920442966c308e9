// What a running job says of itself in small files in its life's folder (results/parts/life.h), for
// `voltpile top`: a file of the job, and one for each host that sees the result's folder. Renewed every
// second; they vanish with the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "machine/node_sample.h"
#include "results/parts/life.h"

namespace voltpile {

struct LiveRank {
    std::string host;
    std::string processor;  // "GPU 0: Tesla V100-SXM2-16GB"
    std::int64_t points = 0;
    double units = 0;
    double busy_s = 0;
};

struct LiveJob {
    std::string line;   // the progress line
    double time_s = 0;  // since 1970-01-01 00:00 UTC
    double elapsed_s = 0;
    std::vector<LiveRank> ranks;
    // Host to "node1:9464", where the node answers GET /metrics; empty if other hosts cannot ask there.
    std::map<std::string, std::string> addresses = {};
};

struct LiveNode {
    std::string host;
    NodeSample sample;
};

struct LiveStatus {
    std::vector<LiveJob> jobs;  // more than one where shards run at the same time
    std::vector<LiveNode> nodes;
};

// Replace the file of the job or of a node whole, so that a reader never sees half of it. Throw FileError.
void write_live_job(const Life& life, const LiveJob& job);
void write_live_node(const Life& life, const LiveNode& node);

// Reads what runs that work on this result write; empty if there is no such run. Skips what it cannot read.
LiveStatus read_live_status(const std::filesystem::path& result);

}  // namespace voltpile
