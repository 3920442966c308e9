// Measures the rates of a language model's passes that plans are made from, for `voltpile calibrate`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/mpi/session.h"
#include "plan/topology.h"

namespace voltpile::llm {

// Memory of a GPU below which measure_llm_rates() cannot load its model there.
inline constexpr std::int64_t kLeastCalibrationBytes = 12'000'000'000;

// Seconds of passes of a model, and what of it decides them.
struct LlmPassTimes {
    double one_s = 0;   // of a decode step of one sequence
    double many_s = 0;  // of one of `many` sequences
    double prompt_s = 0;
    int many = 0;
    int prompt_tokens = 0;
    double weight_bytes = 0;
    double products = 0;  // for each token
    double layers = 0;
    double engine_s = 0;  // of a step of `many` sequences, beside its pass; 0: not measured
};

// Solves the formula of plan/calibration.h for the rates. cores: how many computed; 0: a GPU. read_rate:
// bytes per second that all these cores read from memory.
std::vector<MeasuredRate> solve_llm_rates(const LlmPassTimes& times, const std::string& processor, int cores,
                                          double read_rate);

// Runs a model of random weights on this process's first GPU, or on its cores, and returns the rates
// kLlmWeights and those beside it (plan/calibration.h). On a GPU the model is one of 8e9 parameters, on cores
// a small one, with quantized weights and again with fp16. Collective over the world, which must be one rank.
// Throws AgreedError.
std::vector<MeasuredRate> measure_llm_rates(const MpiSession& mpi, bool on_gpu);

}  // namespace voltpile::llm
