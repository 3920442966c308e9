// `voltpile bench llm`: how fast the ranks of this run read prompts and generate, against what their memory
// gives.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "comm/mpi/session.h"
#include "llm/bench/load.h"
#include "llm/model/model_source.h"
#include "llm/replica/replica_plan.h"

namespace voltpile::llm {

struct LlmBenchOptions {
    std::string model;               // path; empty: synthetic weights in memory
    std::string shape{};             // of them
    std::string quant = "q8_0";      // of them
    std::vector<int> prompts{512};   // tokens
    std::vector<int> contexts{512};  // tokens before what is generated
    std::vector<int> batches{1};     // texts at once
    int generated = 64;              // tokens of each text that are timed
    LoadSettings load{};             // instead of all these, if it has requests
    int sequences = 0;               // of the load, at once; 0: all requests, up to 256
    ReplicaRequest request{};        // what is said above is filled in
    bool json = false;
    std::filesystem::path output{};  // HDF5; empty: none
    std::string command_line{};      // for the record
};

// Of its tables.
inline constexpr const char* llm_bench_title = "voltpile bench llm";

// "llama-3-8b q8_0, synthetic weights", or the path.
std::string model_name(const LlmBenchOptions& options);
// Collective, as the next: whether --output can be written, before anything is measured. Throws AgreedError.
void check_output(const Communicator& world, const LlmBenchOptions& options);
// Throws AgreedError.
std::unique_ptr<ModelSource> open_source(const Communicator& world, const LlmBenchOptions& options);

// Collective: every rank calls. The leader prints a table, or JSON, and writes the file. Throws AgreedError.
void run_llm_bench(const MpiSession& session, LlmBenchOptions options);

}  // namespace voltpile::llm
