// How much memory a model takes, whole and cut over GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "llm/model/gpu_memory.h"
#include "llm/model/kv_element.h"
#include "llm/model/model_source.h"

namespace voltpile::llm {

// What is no model's. Of a GPU: CUDA's context, the kernels of ours and of cuBLAS, recorded passes. Of a GPU
// that shares layers with others, besides: what connects them, most of it NCCL's (2.28 on two H200: 0.42 GB
// at its start, the rest at the first collectives). Of a host: the program and MPI.
constexpr double cuda_bytes_of_gpu = 0.6e9;
constexpr double connection_bytes_of_gpu = 1.0e9;
constexpr double reserved_bytes_of_host = 0.25e9;

constexpr double reserved_bytes_of_gpu(int tensor_parallel) {
    return cuda_bytes_of_gpu + (tensor_parallel > 1 ? connection_bytes_of_gpu : 0);
}

// How weights lie in memory: as in the file, or as the kernels of GPUs want them (gpu_bytes()).
enum class WeightLayout { File, Gpu };

struct WeightBytes {
    std::uint64_t embedding = 0;
    std::uint64_t head = 0;  // output_norm too; without output.weight if tied
    std::vector<std::uint64_t> layers;
    std::array<std::uint64_t, kWeightFormats.size()> by_format{};
    std::uint64_t total = 0;
    std::uint64_t weights = 0;  // their number
};

WeightBytes weight_bytes(const ModelSource& model);

// Of the cache of keys and values, all KV heads.
std::uint64_t kv_bytes_per_token_and_layer(const ModelConfig& config, KvElement element = KvElement::F16);

// The layers [begin, end) of a pipeline stage, and what its fullest GPU holds of them. The first stage also
// holds the embedding, whole on each of its GPUs; the last one the head, cut by words.
struct StageNeeds {
    int layer_begin = 0;
    int layer_end = 0;
    std::uint64_t weights = 0;  // in memory
    std::uint64_t kv_per_token = 0;
    std::uint64_t stored = 0;  // the same weights, in the file's formats
};

// Cuts the layers into as many stages as there are capacities, each with at least one layer, so that the
// largest ratio of weights to capacity is as small as can be. Capacities: one GPU of each stage, in any unit,
// positive. tensor_parallel: without obstacle. Throws std::invalid_argument for more stages than layers.
std::vector<StageNeeds> cut_into_stages(const ModelSource& model, WeightLayout layout, int tensor_parallel,
                                        std::span<const double> capacities, KvElement cache = KvElement::F16);

// The largest pass of a team.
struct PassShape {
    int tensor_parallel = 1;
    int stages = 1;
    int rows = 0;    // tokens
    int logits = 0;  // rows of logits
};

// What a rank needs besides weights, keys and values: activations of the largest pass, most of them fp16 on
// GPUs, hidden states on their way to the next stage, and the operations' own memory.
std::uint64_t working_bytes(const ModelConfig& config, WeightLayout layout, const PassShape& pass);

// Tokens whose keys and values have room beside the weights on every stage's GPUs; 0 if the weights have
// none.
std::uint64_t tokens_in(std::span<const StageNeeds> stages, std::uint64_t bytes_per_gpu);

}  // namespace voltpile::llm
