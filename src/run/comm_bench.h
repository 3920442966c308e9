// `voltpile bench comm`: measures how fast the ranks of this run exchange data, path by path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "comm/collective/types.h"
#include "comm/mpi/communicator.h"

namespace voltpile {

struct CommBenchOptions {
    std::int64_t min_bytes = 8;
    std::int64_t max_bytes = std::int64_t{1} << 30;
    int factor = 4;                         // each size is this many times the one before
    std::vector<Collective> collectives{};  // empty: all collectives
    std::string path{};                     // measure only paths whose names contain this
    bool graph = true;                      // also measure collectives inside CUDA graphs
    bool pairs = true;                      // also measure every pair of ranks
    bool host = false;                      // use host memory even where there are GPUs
    std::filesystem::path output{};         // HDF5, with charts beside it; empty: no file
    std::string command_line{};             // for the record
};

// The title of its result tables.
inline constexpr const char* comm_bench_title = "voltpile bench comm";

// Collective: every rank calls. Rank 0 prints tables and writes the file. Throws AgreedError.
void run_comm_bench(const Communicator& world, CommBenchOptions options);

}  // namespace voltpile
