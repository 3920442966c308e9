// `voltpile bench llm`: how fast the ranks of this run read prompts and generate, against what their memory
// gives.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "comm/mpi_session.h"
#include "llm/model/model_source.h"
#include "llm/run/replica_plan.h"

namespace voltpile::llm {

struct LlmBenchOptions {
    std::string model;               // path; empty: synthetic weights in memory
    std::string shape{};             // of them
    std::string quant = "q8_0";      // of them
    std::vector<int> prompts{512};   // tokens
    std::vector<int> contexts{512};  // tokens before what is generated
    std::vector<int> batches{1};     // texts at once
    int generated = 64;              // tokens of each text that are timed
    ReplicaRequest request{};        // what the lists above say is filled in
    bool json = false;
    std::filesystem::path output{};  // HDF5; empty: none
    std::string command_line{};      // for the record
};

// Collective: every rank calls. The leader prints a table, or JSON, and writes the file. Throws AgreedError.
void run_llm_bench(const MpiSession& session, LlmBenchOptions options);

}  // namespace voltpile::llm
