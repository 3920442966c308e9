// Estimates the memory that training a language model takes, sharded over GPUs. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "plan/topology.h"

namespace voltpile {

// Bytes for each parameter that AdamW trains in mixed precision: weights and gradients in 16 bits, and in
// fp32 the weights, two moments and the gradients' sum.
inline constexpr double kTrainingBytesPerParameter = 18;

struct TrainingRequest {
    double parameters = 0;
    int lora_rank = 0;  // train low-rank adapters of this rank instead, beside frozen 16-bit weights; 0: no
};

struct TrainingPlan {
    double trained = 0;  // parameters that the optimizer updates
    double bytes = 0;    // on all GPUs together, without activations
    int gpus = 0;
    double bytes_of_gpu = 0;  // on each, with CUDA and connections
    double smallest_gpu_bytes = 0;
    std::string smallest_gpu;       // "GPU 1 (GeForce GTX 1060 6GB) of desktop"
    double largest_parameters = 0;  // of a model that would fit on these GPUs, trained in the same way
    int gpus_needed = 0;            // of the smallest kind; 0: no number is enough

    bool fits() const { return bytes_of_gpu <= smallest_gpu_bytes; }
};

// Returns the parameters of adapters on all matrices of a transformer with this many parameters, taking the
// proportions of the Llama models: h / 128 layers of 12 h^2 parameters, feed-forward parts of 2.7 h.
double lora_parameters(double parameters, int rank);

// Shards weights, gradients and optimizer over all GPUs. Throws MachineError without GPUs.
TrainingPlan plan_training(const TrainingRequest& request, const Topology& topology);

// Returns what `voltpile plan --training` prints. explain: with formulas and numbers.
std::string to_text(const TrainingRequest& request, const TrainingPlan& plan, bool explain);

}  // namespace voltpile
