// How much memory a model takes, whole and cut over GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "llm/model/model_source.h"

namespace voltpile::llm {

// Left for other things than weights, keys and values: CUDA, NCCL and scratch space; the program and MPI.
constexpr double reserved_bytes_of_gpu = 1.5e9;
constexpr double reserved_bytes_of_host = 0.25e9;

struct WeightBytes {
    std::uint64_t embedding = 0;
    std::uint64_t head = 0;  // output_norm too; without output.weight if tied
    std::vector<std::uint64_t> layers;
    std::array<std::uint64_t, kWeightFormats.size()> by_format{};
    std::uint64_t total = 0;
    std::uint64_t weights = 0;  // their number
};

WeightBytes weight_bytes(const ModelSource& model);

// Of the fp16 cache of keys and values, all KV heads: 2 * 2 bytes * kv_heads * head_dim.
std::uint64_t kv_bytes_per_token_and_layer(const ModelConfig& config);

// The layers [begin, end) of a pipeline stage, and what its fullest GPU holds of them. The first stage also
// holds the embedding, whole on each of its GPUs; the last one the head, cut by words.
struct StageNeeds {
    int layer_begin = 0;
    int layer_end = 0;
    std::uint64_t weights = 0;
    std::uint64_t kv_per_token = 0;
};

// Cuts the layers into as many stages as there are capacities, each with at least one layer, so that the
// largest ratio of weights to capacity is as small as can be. Capacities: one GPU of each stage, in any unit,
// positive. tensor_parallel: without obstacle. Throws std::invalid_argument for more stages than layers.
std::vector<StageNeeds> cut_into_stages(const ModelSource& model, int tensor_parallel,
                                        std::span<const double> capacities);

// The activations of the largest pass on a rank of the last stage: `rows` tokens, `logits` rows of logits.
std::uint64_t activation_bytes(const ModelConfig& config, int tensor_parallel, int rows, int logits);

// Tokens whose keys and values have room beside the weights on every stage's GPUs; 0 if the weights have
// none.
std::uint64_t tokens_in(std::span<const StageNeeds> stages, std::uint64_t bytes_per_gpu);

}  // namespace voltpile::llm
