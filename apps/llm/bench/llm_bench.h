// `voltpile bench llm`: measures how fast the ranks of this run prefill and generate, and compares that with
// the bandwidth of their memory.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi/session.h"
#include "llm/bench/load.h"
#include "llm/replica/replica_plan.h"
#include "llm/session/language_model.h"

namespace voltpile::llm {

struct LlmBenchOptions {
    std::string model;                  // path; empty: synthetic weights in memory
    std::string shape{};                // of synthetic weights
    std::string quant = "q8_0";         // of synthetic weights
    std::vector<AdapterChoice> lora{};  // adapters, which the sequences take in turn
    int random_adapters = 0;            // in place of these: so many with random factors, of this rank
    int random_rank = 16;
    std::vector<int> prompts{512};      // tokens
    std::vector<int> contexts{512};     // tokens before the first decode step
    std::vector<int> batches{1};        // sequences at once
    int generated = 64;                 // timed tokens of each sequence
    std::string draft{};                // path of a draft model, of a load
    std::string draft_shape{};          // of one with synthetic weights
    std::optional<double> agreement{};  // of the draft model with the model, if it is only assumed
    LoadSettings load{};                // if it has requests, measured in place of the above
    int sequences = 0;                  // the most of the load at once; 0: all requests, up to 256
    ReplicaRequest request{};           // completed from the members above
    bool json = false;
    std::filesystem::path output{};  // HDF5; empty: none
    std::string command_line{};      // recorded in the output
};

// The title of the tables that bench llm writes, by which it recognizes its own files.
inline constexpr const char* llm_bench_title = "voltpile bench llm";

// Checks before any measurement that --output can be written. Collective. Throws AgreedError.
void check_output(const Communicator& world, const LlmBenchOptions& options);
// Opens the model, or creates the synthetic one. Collective. Throws AgreedError.
std::unique_ptr<LanguageModel> open_model(const Communicator& world, const LlmBenchOptions& options);

// Returns the name of the model, and which adapters its sequences have.
std::string model_text(const LanguageModel& model);

// Runs the benchmark. Collective. The leader prints a table or JSON and writes the file. Throws AgreedError.
void run_llm_bench(const MpiSession& mpi, LlmBenchOptions options);

}  // namespace voltpile::llm
