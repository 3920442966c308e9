// What bench llm has measured, as text, as JSON and as a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/bench/llm_bench.h"

namespace voltpile::llm {

struct LlmBenchRow {
    std::string pass;  // "prompt" or "generation"
    int batch = 0;
    int context = 0;             // length of the prompts; tokens before what is generated
    double seconds = 0;          // a prompt of each text; a token of each text
    double tokens_per_s = 0;     // of all texts
    double weights_per_s = 0;    // bytes of weights that a rank reads a second; 0 of prompts
    double bandwidth_share = 0;  // the same, of read_rate
};

struct LlmBenchOp {
    std::string pass;
    std::string name;
    double seconds = 0;  // a pass, of the team's stages together
    double share = 0;    // of the pass
};

struct LlmBenchRank {
    double read_rate = 0;     // bytes a second of its memory
    double loaded_bytes = 0;  // weights
    double load_s = 0;
    double file_rate = 0;      // bytes a second of reading the model's files; 0 for synthetic weights
    double planned_bytes = 0;  // memory
    double measured_bytes = 0;
    // Of a GPU, beside that: by CUDA's context (and whoever else uses the GPU), for what connects the ranks;
    // and of that, since the first pass: kernels and recorded passes.
    double context_bytes = 0;
    double link_bytes = 0;
    double pass_bytes = 0;
};

struct LlmBenchResult {
    std::string model;
    std::string processor;
    int tensor = 1;
    int pipeline = 1;
    double weight_bytes = 0;  // of a pass, those of one tensor rank of each stage
    std::vector<LlmBenchRow> rows;
    std::vector<LlmBenchOp> operations;  // of the first batch and context
    std::vector<LlmBenchRank> ranks;     // of the team
};

std::string to_text(const LlmBenchResult& result);
std::string to_json(const LlmBenchResult& result);
// Throws FileError.
void write_llm_bench(const LlmBenchResult& result, const Plan& plan, const LlmBenchOptions& options);

}  // namespace voltpile::llm
