#include "llm/model/model_memory.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "llm/model/lora/adapter_memory.h"
#include "llm/model/tensor_parallel.h"

namespace voltpile::llm {
namespace {

// Bytes of each layer, the embedding and the head on the fullest rank of a tensor-parallel group.
struct RankBytes {
    std::vector<std::uint64_t> layers;
    std::vector<std::uint64_t> experts;  // of each layer
    // The experts of each layer in host memory, which `layers` and `experts` leave out: bytes, with those of
    // adapters, and weights.
    std::vector<std::uint64_t> host_experts, host_weights;
    std::vector<std::uint64_t> host_sent;       // their bytes on the way to the device
    std::vector<std::uint64_t> host_in_layout;  // their bytes on the device
    std::uint64_t embedding = 0;
    std::uint64_t head = 0;
    std::uint64_t kv_heads = 0;
};

std::uint64_t bytes_of(WeightLayout layout, const ModelTensor& tensor, const TensorSlice& slice) {
    if (tensor.router) return slice.rows() * slice.columns() * sizeof(float);
    if (tensor.as_half) return slice.rows() * slice.columns() * sizeof(std::uint16_t);
    if (layout == WeightLayout::File) return slice.bytes(tensor.format);
    return gpu_bytes(tensor.format, static_cast<std::int64_t>(slice.rows()),
                     static_cast<std::int64_t>(slice.columns()));
}

// on_host: the first layer with experts in host memory. with_adapters: counts their factors.
RankBytes bytes_of_rank(const ModelSource& model, WeightLayout layout, const RankShare& share, int on_host,
                        bool with_adapters) {
    RankBytes bytes;
    bytes.layers.resize(static_cast<std::size_t>(model.config().layers));
    bytes.experts = bytes.host_experts = bytes.host_weights = bytes.layers;
    bytes.host_sent = bytes.host_in_layout = bytes.layers;
    for (const ModelTensor& tensor : model.tensors()) {
        const TensorSlice slice = tensor_shard(model, tensor, share).stored;
        if (tensor.expert >= 0 && tensor.layer >= on_host) {
            const auto layer = static_cast<std::size_t>(tensor.layer);
            bytes.host_experts[layer] += slice.bytes(tensor.format);
            bytes.host_weights[layer] += slice.rows() * slice.columns();
            bytes.host_sent[layer] += slice.bytes(sent_format(tensor.format));
            bytes.host_in_layout[layer] += bytes_of(layout, tensor, slice);
            continue;
        }
        const std::uint64_t size = bytes_of(layout, tensor, slice);
        if (tensor.layer >= 0)
            bytes.layers[static_cast<std::size_t>(tensor.layer)] += size;
        else if (tensor.name.starts_with("output"))
            bytes.head += size;
        else
            bytes.embedding += size;
        if (tensor.expert >= 0) bytes.experts[static_cast<std::size_t>(tensor.layer)] += size;
    }
    for (std::int64_t layer = 0; layer < model.config().layers && with_adapters; ++layer) {
        const auto at = static_cast<std::size_t>(layer);
        const AdapterBytes adapters = adapter_bytes(model, layout, share, layer);
        bytes.layers[at] += adapters.others;
        if (layer < on_host)
            bytes.layers[at] += adapters.experts;
        else
            bytes.host_experts[at] += adapter_bytes(model, WeightLayout::File, share, layer).experts;
    }
    bytes.kv_heads = share.kv_heads.size();
    return bytes;
}

RankBytes fullest_rank(const ModelSource& model, WeightLayout layout, int ranks, int on_host,
                       bool with_adapters) {
    RankBytes fullest = bytes_of_rank(model, layout, rank_share(model, 0, ranks), on_host, with_adapters);
    const auto raise = [](std::uint64_t& value, std::uint64_t other) { value = std::max(value, other); };
    for (int rank = 1; rank < ranks; ++rank) {
        const RankBytes bytes =
            bytes_of_rank(model, layout, rank_share(model, rank, ranks), on_host, with_adapters);
        for (std::size_t i = 0; i < bytes.layers.size(); ++i) {
            raise(fullest.layers[i], bytes.layers[i]);
            raise(fullest.experts[i], bytes.experts[i]);
            raise(fullest.host_experts[i], bytes.host_experts[i]);
            raise(fullest.host_weights[i], bytes.host_weights[i]);
            raise(fullest.host_sent[i], bytes.host_sent[i]);
            raise(fullest.host_in_layout[i], bytes.host_in_layout[i]);
        }
        raise(fullest.embedding, bytes.embedding);
        raise(fullest.head, bytes.head);
        raise(fullest.kv_heads, bytes.kv_heads);
    }
    return fullest;
}

// The embedding on a last stage that is not the first.
std::uint64_t second_embedding_bytes(const RankBytes& rank, std::size_t stages, bool embeds_last) {
    return embeds_last && stages > 1 ? rank.embedding : 0;
}

// A tied head shares the embedding's memory only if that is whole and on the same rank. Otherwise the rank
// has its part of the vocabulary twice.
std::uint64_t tied_head_bytes(const ModelSource& model, WeightLayout layout, int ranks, std::size_t stages,
                              bool embeds_last) {
    const bool embeds = stages == 1 || embeds_last;
    if (!model.config().tied_embeddings || (embeds && ranks == 1)) return 0;
    std::size_t most = 0;
    for (int rank = 0; rank < ranks; ++rank)
        most = std::max(most, rank_share(model, rank, ranks).words.size());
    return bytes_of(layout, model.head(), {0, most, 0, model.head().columns});
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& bytes, std::size_t begin, std::size_t end) {
    return std::accumulate(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                           bytes.begin() + static_cast<std::ptrdiff_t>(end), std::uint64_t{0});
}

// Computes the bytes on the fullest rank of a stage, for any range of layers.
class StageWeights {
  public:
    StageWeights(const ModelSource& model, WeightLayout layout, int ranks, std::size_t stages,
                 bool embeds_last, bool with_adapters, int experts_on_host = 0)
        : on_host_(first_layer_on_host(model.config(), experts_on_host)),
          rank_(fullest_rank(model, layout, ranks, on_host_, with_adapters)),
          stages_(stages),
          before_(rank_.layers.size() + 1, 0) {
        rank_.head += tied_head_bytes(model, layout, ranks, stages, embeds_last) +
                      second_embedding_bytes(rank_, stages, embeds_last);
        std::partial_sum(rank_.layers.begin(), rank_.layers.end(), before_.begin() + 1);
    }
    std::uint64_t operator()(std::size_t stage, std::size_t begin, std::size_t end) const {
        return before_[end] - before_[begin] + (stage == 0 ? rank_.embedding : 0) +
               (stage + 1 == stages_ ? rank_.head : 0);
    }
    std::uint64_t experts(std::size_t begin, std::size_t end) const {
        return sum_of(rank_.experts, begin, end);
    }
    std::uint64_t host_experts(std::size_t begin, std::size_t end) const {
        return sum_of(rank_.host_experts, begin, end);
    }
    std::uint64_t host_weights(std::size_t begin, std::size_t end) const {
        return sum_of(rank_.host_weights, begin, end);
    }
    std::uint64_t host_experts_sent(std::size_t begin, std::size_t end) const {
        return sum_of(rank_.host_sent, begin, end);
    }
    std::uint64_t largest_host_layer(std::size_t begin, std::size_t end) const {
        return *std::max_element(rank_.host_in_layout.begin() + static_cast<std::ptrdiff_t>(begin),
                                 rank_.host_in_layout.begin() + static_cast<std::ptrdiff_t>(end));
    }
    int host_layers(std::size_t begin, std::size_t end) const {
        int count = 0;
        for (std::size_t layer = begin; layer < end; ++layer) count += rank_.host_experts[layer] > 0;
        return count;
    }
    std::size_t layers() const { return rank_.layers.size(); }
    std::uint64_t kv_heads() const { return rank_.kv_heads; }

  private:
    int on_host_;  // the first layer with experts in host memory
    RankBytes rank_;
    std::size_t stages_;
    std::vector<std::uint64_t> before_;  // for each layer, the bytes of all layers before it
};

// Bytes of the layers with the matrices of all ranks; none of them unless they are kept.
class WholeLayerBytes {
  public:
    WholeLayerBytes(const ModelSource& model, WeightLayout layout, bool kept) {
        if (!kept) return;
        const RankShare all = rank_share(model, 0, 1);
        const int on_device = first_layer_on_host(model.config(), 0);
        in_memory_ = bytes_of_rank(model, layout, all, on_device, false);
        in_file_ = bytes_of_rank(model, WeightLayout::File, all, on_device, false);
    }
    std::uint64_t of(std::size_t begin, std::size_t end) const { return sum(in_memory_.layers, begin, end); }
    std::uint64_t stored(std::size_t begin, std::size_t end) const {
        return sum(in_file_.layers, begin, end);
    }

  private:
    static std::uint64_t sum(const std::vector<std::uint64_t>& bytes, std::size_t begin, std::size_t end) {
        return bytes.empty() ? 0 : sum_of(bytes, begin, end);
    }

    RankBytes in_memory_, in_file_;
};

}  // namespace

WeightBytes weight_bytes(const ModelSource& model) {
    const Experts& experts = model.config().experts;
    WeightBytes bytes;
    bytes.experts = experts.count;
    if (experts.count > 0)
        bytes.unused_experts = 1 - static_cast<double>(experts.used) / static_cast<double>(experts.count);
    bytes.layers.resize(static_cast<std::size_t>(model.config().layers));
    for (const ModelTensor& tensor : model.tensors()) {
        bytes.by_format[static_cast<std::size_t>(tensor.format)] += tensor.bytes();
        bytes.total += tensor.bytes();
        bytes.weights += tensor.rows * tensor.columns;
        // All experts have the same size; their biases are rows of one tensor.
        const std::uint64_t rows =
            tensor.name.ends_with("_exps.bias") ? static_cast<std::uint64_t>(experts.used) : tensor.rows;
        if (tensor.expert < experts.used) bytes.active += rows * tensor.columns;
        if (tensor.rows > 1)
            bytes.in_matrices[static_cast<std::size_t>(tensor.format)] += tensor.rows * tensor.columns;
        if (tensor.layer >= 0)
            bytes.layers[static_cast<std::size_t>(tensor.layer)] += tensor.bytes();
        else
            (tensor.name.starts_with("output") ? bytes.head : bytes.embedding) += tensor.bytes();
    }
    return bytes;
}

std::uint64_t kv_bytes_per_token_and_layer(const ModelConfig& config, KvElement element) {
    const std::uint64_t vectors = config.latent.kv_rank > 0 ? 1 : 2;
    return vectors * static_cast<std::uint64_t>(config.kv_heads) *
           kv_head_bytes(element, static_cast<std::size_t>(config.head_dim));
}

std::vector<StageNeeds> cut_into_stages(const ModelSource& model, WeightLayout layout, int tensor_parallel,
                                        std::span<const double> capacities, KvElement cache,
                                        int experts_on_host, bool embeds_last, bool whole_layers) {
    const std::size_t stages = capacities.size();
    const StageWeights weights(model, layout, tensor_parallel, stages, embeds_last, !model.adapters().empty(),
                               experts_on_host);
    const std::size_t layers = weights.layers();
    if (stages < 1 || stages > layers) throw std::invalid_argument("more pipeline stages than layers");
    const StageWeights stored(model, WeightLayout::File, tensor_parallel, stages, embeds_last, false);

    const WholeLayerBytes whole(model, layout, whole_layers && tensor_parallel > 1);

    // best[s][e]: the minimal largest ratio of stages 0 to s if they end at layer e. from[s][e]: the layer
    // where stage s then begins.
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::vector best(stages, std::vector<double>(layers + 1, kNever));
    std::vector from(stages, std::vector<std::size_t>(layers + 1, 0));
    for (std::size_t s = 0; s < stages; ++s)
        for (std::size_t end = s + 1; end <= layers; ++end)
            for (std::size_t begin = s; begin < (s == 0 ? 1 : end); ++begin) {
                const double own =
                    static_cast<double>(weights(s, begin, end) + whole.of(begin, end)) / capacities[s];
                const double ratio = std::max(own, s == 0 ? 0.0 : best[s - 1][begin]);
                if (ratio >= best[s][end]) continue;
                best[s][end] = ratio;
                from[s][end] = begin;
            }
    const std::uint64_t kv_per_token_and_layer = kv_bytes_per_token_and_layer(model.config(), cache) *
                                                 weights.kv_heads() /
                                                 static_cast<std::uint64_t>(model.config().kv_heads);
    const int expert_ranks = has_whole_experts(model, tensor_parallel) ? tensor_parallel : 1;
    std::vector<StageNeeds> needs(stages);
    for (std::size_t s = stages, end = layers; s-- > 0; end = from[s][end]) {
        const std::size_t begin = from[s][end];
        needs[s] = {static_cast<int>(begin),
                    static_cast<int>(end),
                    weights(s, begin, end),
                    kv_per_token_and_layer * (end - begin),
                    stored(s, begin, end),
                    weights.experts(begin, end),
                    expert_ranks,
                    0,
                    weights.host_layers(begin, end),
                    weights.host_experts(begin, end),
                    weights.host_weights(begin, end),
                    weights.host_experts_sent(begin, end),
                    weights.largest_host_layer(begin, end),
                    whole.of(begin, end),
                    whole.stored(begin, end)};
    }
    return needs;
}

namespace {

// The activations of attention in a row: those that a tensor-parallel group divides, and those that each of
// its ranks has whole.
struct AttentionFactors {
    std::int64_t cut, whole;
};
AttentionFactors attention_factors(const ModelConfig& config) {
    const LatentAttention& latent = config.latent;
    const std::int64_t keys = 2 * config.kv_heads * config.head_dim;
    if (latent.kv_rank == 0) return {2 * config.heads * config.head_dim + keys, 0};
    const std::int64_t heads = 2 * config.head_dim + latent.plain_dim + config.rope_dims + latent.value_dim;
    return {config.heads * heads, keys + 3 * std::max(latent.q_rank, latent.kv_rank) + config.rope_dims};
}

}  // namespace

std::uint64_t hidden_row_bytes(const ModelConfig& config, WeightLayout layout) {
    return static_cast<std::uint64_t>(config.hidden) * (layout == WeightLayout::Gpu ? 2 : 4);
}

bool has_ordered_columns(const ModelSource& model) {
    return std::ranges::any_of(model.tensors(),
                               [](const ModelTensor& tensor) { return !tensor.column_order.empty(); });
}

std::uint64_t working_bytes(const ModelConfig& config, WeightLayout layout, const PassShape& pass) {
    const bool gpu = layout == WeightLayout::Gpu;
    const std::int64_t tensor = pass.tensor_parallel;
    const std::int64_t words = (config.vocab + tensor - 1) / tensor;
    // The residual stream, partial sums, and two hidden states on their way to the next stage.
    const std::int64_t floats = (2 + (pass.stages > 1 ? 2 : 0)) * config.hidden;
    const Experts& experts = config.experts;
    const std::int64_t dense_ffn = has_dense_layers(config) ? config.ffn : 0;
    const std::int64_t of_experts = experts.used * experts.ffn;
    const std::int64_t apart = std::max(experts.shared_ffn, dense_ffn), ffn = of_experts + apart;
    const std::int64_t gates = pass.adapters.gates_apart ? 2 * apart : 0;
    const std::int64_t added = pass.adapters.added_to_experts ? 2 * of_experts : 0;
    const AttentionFactors attention = attention_factors(config);
    // The normed rows, and on GPUs the rows that others send for sums joined with norms.
    const bool joint = gpu && tensor > 1 && !config.blocks.output_norms;
    // With an EAGLE 3 head, the layer inputs that it reads, also twice on their way to the next stage, and
    // the row that it fuses them to. Of the head itself, the input of its attention.
    const std::int64_t copies_read = pass.stages > 1 ? 3 : 1;
    const std::int64_t read =
        (pass.read_layers > 0 ? copies_read * pass.read_layers + 1 : 0) * config.hidden +
        (eagle_head_of(config) != nullptr ? 2 * config.hidden : 0);
    const std::int64_t whole = (joint ? 2 : 1) * config.hidden + (pass.orders_columns ? config.hidden : 0) +
                               attention.whole + (pass.whole_experts ? of_experts : 0) + read;
    const std::int64_t cut = attention.cut + gates + ffn - (pass.whole_experts ? of_experts : 0);
    // Of passes cut by rows: a share of the rows with everything, and queries, keys and values of the rank's
    // heads where they are sent and received.
    const std::int64_t by_rows =
        pass.cut_by_rows ? (config.hidden + (pass.orders_columns ? config.hidden : 0) + attention.whole +
                            attention.cut + apart + of_experts + 2 * attention.cut) /
                               tensor
                         : 0;
    const std::int64_t factors = whole + cut / tensor + by_rows;
    // On cores, each row's copies and products for its experts and its adapter; the router's logits and
    // choices.
    const std::int64_t copies =
        gpu ? 0 : 2 * experts.used * config.hidden + (gates > 0 ? config.hidden + apart : 0);
    // On cores, the input of the widest product once more, as its kernel reads it.
    const std::int64_t widest =
        std::max({std::max<std::int64_t>(experts.used, 1) * config.hidden, of_experts, apart / tensor,
                  config.heads * std::max(config.head_dim, config.latent.kv_rank) / tensor});
    const std::int64_t prepared = gpu ? 0 : widest;
    const std::int64_t routing = experts.count + 4 * experts.used;
    const std::int64_t added_here = pass.whole_experts ? added : added / tensor;
    const std::int64_t routing_by_rows = pass.cut_by_rows ? routing / tensor : 0;
    const std::int64_t row =
        4 * (floats + copies + prepared + routing + routing_by_rows + added_here) + (gpu ? 2 : 4) * factors;
    const std::int64_t logit_row =
        4 * (2 * config.hidden + config.vocab + (tensor > 1 ? (tensor + 1) * words : 0));
    // Hidden rows of a prediction layer's last pass.
    const std::uint64_t predicted =
        static_cast<std::uint64_t>(pass.prediction_rows) * hidden_row_bytes(config, layout);
    // The orders themselves, of QKV and of gate and up.
    const std::int64_t layers = (config.layers + pass.stages - 1) / pass.stages;
    const std::int64_t orders = pass.orders_columns ? (pass.cut_by_rows ? 4 : 2) * layers * config.hidden *
                                                          std::int64_t{sizeof(std::int32_t)}
                                                    : 0;
    const std::int64_t joint_words = joint ? joint_word_bytes(tensor, pass.rows, config.hidden) : 0;
    return static_cast<std::uint64_t>(pass.rows * row + pass.logits * logit_row + joint_words + orders) +
           predicted + (gpu ? gpu_scratch_bytes + cublas_bytes : 0);
}

std::uint64_t host_working_bytes(const ModelConfig& config, const PassShape& pass) {
    const Experts& experts = config.experts;
    const std::int64_t ffn = pass.whole_experts ? experts.ffn : experts.ffn / pass.tensor_parallel;
    // Pinned: fp16 inputs, fp32 outputs, the choices, the adapter. On cores: fp32 inputs, and for each row
    // and expert a copy of the input, its gated products, what adapters add to these, its output, and the
    // input of the wider product once more.
    const std::int64_t pinned = 6 * config.hidden + 8 * experts.used + 4;
    const std::int64_t added = pass.adapters.added_to_experts ? 2 * ffn : 0;
    const std::int64_t of_cores =
        4 * (config.hidden + experts.used * (2 * config.hidden + ffn + added + std::max(config.hidden, ffn)) +
             4 * experts.used);
    return static_cast<std::uint64_t>(pass.rows * (pinned + of_cores));
}

std::uint64_t tokens_in(std::span<const StageNeeds> stages, std::uint64_t bytes_per_gpu) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (const StageNeeds& stage : stages) {
        if (stage.empty()) continue;
        least = std::min(least, stage.all_weights() >= bytes_per_gpu
                                    ? 0
                                    : (bytes_per_gpu - stage.all_weights()) / stage.kv_per_token);
    }
    return least;
}

}  // namespace voltpile::llm
