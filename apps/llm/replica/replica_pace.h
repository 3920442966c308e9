// Estimates how fast a planned replica generates: a roofline over memory, tensor cores and links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/replica/replica_plan.h"

namespace voltpile::llm {

// The time of a decode step in a stage with n sequences.
struct StagePace {
    double fixed_s = 0;
    double each_s = 0;
    double experts_s = 0;       // of reading all experts
    double unused_experts = 0;  // the share of them that one token does not use
    double experts = 0;         // of a layer
    int expert_ranks = 1;       // see StageNeeds
    double host_experts_s = 0;  // of reading all experts in host memory

    // Tokens choose experts as if at random: n of them leave the share unused_experts^n. The busiest rank is
    // that of expert_load.h.
    double with(double sequences) const;
};

// Tokens per second of one replica with short sequences. 0: the bandwidth of some GPU is unknown.
struct ReplicaPace {
    double one_sequence = 0;
    double all_sequences = 0;  // with ReplicaRequest::sequences at once
    double prompt = 0;         // while prompts are read
    double start_s = 0;        // before the first token of a job with many prompts
    int slowest_rank = -1;     // of the stage that takes the longest
    std::vector<StagePace> stages;
    std::vector<std::string> formulas;

    // Returns the tokens per second with `sequences` at once; several stages work on parts of them in turn.
    double with(int sequences) const;

    // Returns the seconds in which a replica answers `sequences` prompts of this length, `at_once` at once.
    double seconds(double sequences, int at_once, double prompt_tokens, double generated_tokens) const;
};

// A pass that copies experts to the GPUs takes about as long for few rows as for many, so it may take longer
// than others.
constexpr double longest_streamed_pass_s = 4;

// Returns from how many rows of a pass on it takes less time to copy the experts in host memory to the GPUs
// than to compute them on cores; 0 without experts in host memory, and where the copies take longer than
// longest_streamed_pass_s.
int rows_to_stream(const ReplicaPlan& replica, const WeightBytes& weights);

ReplicaPace estimate_pace(const ReplicaPlan& replica, const WeightBytes& weights);

}  // namespace voltpile::llm
