// Computes how much memory a model takes, whole and split over GPUs.
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

// Memory that does not depend on the model. On a GPU: CUDA's context, our kernels and those of cuBLAS, and
// recorded passes. On a GPU that shares layers with others, also the connections, mostly NCCL's (version 2.28
// on two H200: 0.42 GB at its start, the rest at the first collectives). On a host: the program and MPI.
constexpr double cuda_bytes_of_gpu = 0.6e9;
constexpr double connection_bytes_of_gpu = 1.0e9;
constexpr double reserved_bytes_of_host = 0.25e9;
// Of the process of a rank with a GPU: CUDA, cuBLAS and NCCL (docs/benchmarks.md).
constexpr double cuda_bytes_of_host = 1.0e9;

constexpr double reserved_bytes_of_gpu(int tensor_parallel) {
    return cuda_bytes_of_gpu + (tensor_parallel > 1 ? connection_bytes_of_gpu : 0);
}

// The layout of weights in memory: as in the file, or as the GPU kernels need them (gpu_bytes()).
enum class WeightLayout { File, Gpu };

struct WeightBytes {
    std::uint64_t embedding = 0;
    std::uint64_t head = 0;  // output_norm too; without output.weight if tied
    std::vector<std::uint64_t> layers;
    std::array<std::uint64_t, kWeightFormats.size()> by_format{};
    std::uint64_t total = 0;
    std::uint64_t weights = 0;  // the number of weights
    std::uint64_t active = 0;   // of these, used by each token
    std::int64_t experts = 0;   // of a layer
    double unused_experts = 0;  // the share of the experts that a token does not use; 0 without experts
    std::array<std::uint64_t, kWeightFormats.size()> in_matrices{};  // of these, by format
};

WeightBytes weight_bytes(const ModelSource& model);

// Returns the bytes of the KV cache for one token in one layer, with all KV heads.
std::uint64_t kv_bytes_per_token_and_layer(const ModelConfig& config, KvElement element = KvElement::F16);

// The layers [layer_begin, layer_end) of a pipeline stage, and the memory on its fullest GPU. The first stage
// also has the embedding, whole on each GPU; the last stage has the head, split by vocabulary. Of the stages
// of prediction layers, all but the last are empty.
struct StageNeeds {
    int layer_begin = 0;
    int layer_end = 0;
    std::uint64_t weights = 0;  // bytes in memory
    std::uint64_t kv_per_token = 0;
    std::uint64_t stored = 0;    // bytes of the same weights in the file, without adapters
    std::uint64_t experts = 0;   // bytes in memory of those matrices of which a token uses only some
    int expert_ranks = 1;        // that share the experts as whole ones; 1: each has a part of every expert
    std::uint64_t integers = 0;  // bytes of copies of weights as integers, which `weights` leaves out
    // Experts in host memory, which `weights` and `experts` leave out.
    int host_layers = 0;                  // that have them
    std::uint64_t host_experts = 0;       // bytes on the fullest rank, as in the file, and of their adapters
    std::uint64_t host_weights = 0;       // their number there
    std::uint64_t host_experts_sent = 0;  // their bytes on the way to a GPU, where cores convert some formats
    std::uint64_t largest_host_layer = 0;  // bytes of the experts of one layer there, on a GPU
    // Bytes in memory of the layers of all ranks, which `weights` leaves out; 0 unless each rank keeps them
    // for passes cut by rows (WholeLayers).
    std::uint64_t whole_layers = 0;
    std::uint64_t stored_whole_layers = 0;  // bytes of the same in the file

    std::uint64_t all_weights() const { return weights + whole_layers; }
    bool empty() const { return layer_begin == layer_end; }
};

// Cuts the layers into one stage for each capacity, each with at least one layer, so that the largest ratio
// of weights to capacity is minimal. capacities: of one GPU of each stage, in any unit, positive.
// tensor_parallel: without obstacle. experts_on_host: the experts of this many layers are not on the GPUs,
// see first_layer_on_host(). embeds_last: the last stage has the embedding too. Throws std::invalid_argument
// for more stages than layers. whole_layers: each rank also keeps the layers of all ranks.
std::vector<StageNeeds> cut_into_stages(const ModelSource& model, WeightLayout layout, int tensor_parallel,
                                        std::span<const double> capacities, KvElement cache = KvElement::F16,
                                        int experts_on_host = 0, bool embeds_last = false,
                                        bool whole_layers = false);

// Returns the bytes that a model keeps of each token for its prediction layer or an EAGLE 3 head, see
// Decoder::hidden_rows().
std::uint64_t hidden_row_bytes(const ModelConfig& config, WeightLayout layout);

// Activations that adapters need beside those of the model.
struct AdapterBuffers {
    bool gates_apart = false;       // gate and up products, before they are gated
    bool added_to_experts = false;  // what is added to the gate and up products of experts
};

// Whether a model has matrices with ModelTensor::column_order.
bool has_ordered_columns(const ModelSource& model);

// The largest pass of a team.
struct PassShape {
    int tensor_parallel = 1;
    int stages = 1;
    int rows = 0;    // tokens
    int logits = 0;  // rows of logits
    AdapterBuffers adapters;
    bool whole_experts = false;  // see RankShare
    // Rows of a pass of the prediction layers or the EAGLE 3 head; 0: there is neither.
    int prediction_rows = 0;
    int read_layers = 0;          // whose inputs the head reads
    bool cut_by_rows = false;     // see WholeLayers
    bool orders_columns = false;  // see InputOrder
};

// Returns the bytes that a rank needs beside weights and KV cache: activations of the largest pass, mostly
// fp16 on GPUs, hidden states on their way to the next stage, and the operations' own memory.
std::uint64_t working_bytes(const ModelConfig& config, WeightLayout layout, const PassShape& pass);

// Returns the bytes of host memory that a rank with a GPU needs in passes with experts in host memory: rows
// on their way to the cores and back, and the activations of the cores.
std::uint64_t host_working_bytes(const ModelConfig& config, const PassShape& pass);

// Returns how many tokens fit into the KV cache beside the weights on the GPUs of every stage; 0 if the
// weights do not fit.
std::uint64_t tokens_in(std::span<const StageNeeds> stages, std::uint64_t bytes_per_gpu);

}  // namespace voltpile::llm
