// Reports the measurements of bench llm as text, as JSON and as a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/bench/llm_bench.h"

namespace voltpile::llm {

struct LlmBenchRow {
    std::string pass;  // "prompt" or "generation"
    int batch = 0;
    int context = 0;             // tokens of each prompt, or before the first decode step
    double seconds = 0;          // for one prompt of each sequence, or one decode step
    double tokens_per_s = 0;     // of all sequences together
    double weights_per_s = 0;    // bytes of weights that a rank reads in a second; 0 for prompts
    double bandwidth_share = 0;  // weights_per_s over read_rate
};

struct LlmBenchOp {
    std::string pass;
    std::string name;
    double seconds = 0;  // in one pass, summed over pipeline stages
    double share = 0;    // of the pass
};

struct LlmBenchRank {
    double read_rate = 0;     // memory bandwidth in bytes a second
    double cache_bytes = 0;   // its share of its cores' last-level caches; 0: on a GPU, or unknown
    double loaded_bytes = 0;  // of weights
    double load_s = 0;
    double file_rate = 0;      // bytes a second from the model's files; 0 for synthetic weights
    double planned_bytes = 0;  // of memory
    double measured_bytes = 0;
    // On a GPU, not in measured_bytes: CUDA's context (with other users of the GPU) and connections between
    // ranks. In measured_bytes: pass_bytes, which came with the first passes (kernels and recorded passes).
    double context_bytes = 0;
    double link_bytes = 0;
    double pass_bytes = 0;
};

struct LlmBenchResult {
    std::string model;
    std::string processor;
    int tensor = 1;
    int pipeline = 1;
    double weight_bytes = 0;  // read in a pass by one tensor rank of each stage
    bool in_files = false;    // the weights stay where the files are mapped
    std::vector<LlmBenchRow> rows;
    std::vector<LlmBenchOp> operations;  // for the first batch and context
    std::vector<LlmBenchRank> ranks;     // of the team
};

std::string to_text(const LlmBenchResult& result);
std::string to_json(const LlmBenchResult& result);
// Throws FileError.
void write_llm_bench(const LlmBenchResult& result, const Plan& plan, const LlmBenchOptions& options);

}  // namespace voltpile::llm
