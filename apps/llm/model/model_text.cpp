#include "llm/model/model_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/model_family.h"
#include "llm/model/model_memory.h"
#include "llm/model/tensor_parallel.h"

namespace voltpile::llm {
namespace {

constexpr int kGpusPerNode = 4;  // connected by NVLink in a T180 or T181
constexpr double kGiB = 1 << 30;

std::string line(std::string_view label, const std::string& text) {
    return fmt::format("{:<13}{}\n", label, text);
}

std::string rope_text(const ModelConfig& config) {
    std::string text = fmt::format("theta {:g}", config.rope_theta);
    const RopeScaling& scaling = config.rope_scaling;
    if (scaling.kind != RopeScalingKind::None)
        text += fmt::format(", {} scaling by {:g}", name(scaling.kind), scaling.factor);
    if (scaling.original_context > 0)
        text += fmt::format(" from {} tokens", count_text(scaling.original_context));
    if (scaling.attention_factor > 0)
        text += fmt::format(", cos and sin times {:g}", scaling.attention_factor);
    if (config.rope_factors) text += ", factors in the file (llama3 scaling)";
    return text +
           (config.rope_style == RopeStyle::Interleaved ? ", interleaved pairs" : ", half-split pairs") +
           (config.rope_dims < config.head_dim
                ? fmt::format(" of the first {} elements of a head", config.rope_dims)
                : "");
}

std::string attention_text(const ModelConfig& config) {
    std::string text =
        fmt::format("{} heads of {}, {} for keys and values", config.heads, config.head_dim, config.kv_heads);
    if (config.latent.kv_rank > 0)
        text = fmt::format("latent, {} heads, {} + {} numbers of a token in the cache", config.heads,
                           config.latent.kv_rank, config.rope_dims);
    if (config.blocks.qkv_bias) text += ", biases";
    if (config.blocks.qk_norm != QkNorm::None) text += ", normed queries and keys";
    if (config.sliding_window > 0)
        text += fmt::format(", window of {} tokens in {} layers", count_text(config.sliding_window),
                            std::ranges::count(config.layer_slides, true));
    return text;
}

std::string feed_forward_text(const ModelConfig& config) {
    const Experts& experts = config.experts;
    if (experts.count == 0) return fmt::format("feed-forward {}", config.ffn);
    std::string text =
        fmt::format("{} experts of {}, {} for each token", experts.count, experts.ffn, experts.used);
    if (experts.groups > 1) text += fmt::format(" from {} of {} groups", experts.used_groups, experts.groups);
    if (experts.shared_ffn > 0) text += fmt::format(" and a shared one of {}", experts.shared_ffn);
    if (const auto dense = std::ranges::count(config.layer_dense, true); dense > 0)
        text += fmt::format("; layers without experts: {}, feed-forward {}", dense, config.ffn);
    return text;
}

std::string format_text(const WeightBytes& bytes) {
    std::vector<std::string> parts;
    for (const WeightFormatInfo& format : kWeightFormats)
        if (const auto part = bytes.by_format[static_cast<std::size_t>(format.format)]; part > 0)
            parts.push_back(
                fmt::format("{} {} ({:.3g} %)", format.name, bytes_text(static_cast<double>(part)),
                            100.0 * static_cast<double>(part) / static_cast<double>(bytes.total)));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string token_text(const ModelConfig& config) {
    const std::string ends =
        config.eos_ids.empty() ? "none" : fmt::format("{}", fmt::join(config.eos_ids, ", "));
    return fmt::format("{}; begin {}{}, end {}; {}",
                       config.tokenizer.kind == TokenizerKind::None ? "none" : config.tokenizer.description,
                       config.bos_id < 0 ? "none" : fmt::format("{}", config.bos_id),
                       config.add_bos ? " (added to prompts)" : "", ends,
                       config.chat_template.empty() ? "no chat template" : "has a chat template");
}

// Says why not only for the smallest power of two: users ask why they cannot use all of 2, 4 or 8 GPUs.
std::string tensor_parallel_text(const ModelSource& model) {
    std::vector<int> sizes, whole;
    std::string why_not;
    for (int ranks = 1; ranks <= 16; ++ranks) {
        const std::string obstacle = tensor_parallel_obstacle(model, ranks);
        if (obstacle.empty()) {
            sizes.push_back(ranks);
            if (has_whole_experts(model, ranks)) whole.push_back(ranks);
        } else if (why_not.empty() && std::has_single_bit(static_cast<unsigned>(ranks))) {
            why_not = fmt::format(" ({})", obstacle);
        }
    }
    return fmt::format(
        "over {} GPU{}{}{}", fmt::join(sizes, ", "), sizes.back() == 1 ? "" : "s",
        whole.empty() ? "" : fmt::format(", with whole experts over {}", fmt::join(whole, ", ")), why_not);
}

struct Split {
    int tensor_parallel;
    int pipeline_stages;
};

// Returns the widest tensor parallelism within a node that divides the number of GPUs; nothing if that leaves
// more stages than layers.
Split widest_split(const ModelSource& model, int gpus) {
    for (int ranks = std::min(gpus, kGpusPerNode); ranks > 1; --ranks)
        if (gpus % ranks == 0 && tensor_parallel_obstacle(model, ranks).empty()) return {ranks, gpus / ranks};
    return {1, gpus};
}

// The memory of the operations; activations are small beside it.
constexpr double working_of_one = gpu_scratch_bytes + cublas_bytes;

int room_columns(const ModelSource& model) {
    return model.config().experts.count > 0 ? 22 : 16;
}

// The tokens that must have room beside the weights before experts leave the GPUs.
constexpr std::int64_t kTokensBesideExperts = 8192;

std::vector<StageNeeds> cut_equally(const ModelSource& model, const Split& split, int experts_on_host) {
    const std::vector<double> equal(static_cast<std::size_t>(split.pipeline_stages), 1.0);
    return cut_into_stages(model, WeightLayout::Gpu, split.tensor_parallel, equal, KvElement::F16,
                           experts_on_host);
}

// Returns the fewest layers whose experts must be in host memory, with their bytes on the fullest rank;
// nothing if that does not help.
std::optional<std::pair<int, std::uint64_t>> least_on_host(const ModelSource& model, const Split& split,
                                                           std::uint64_t bytes_per_gpu) {
    const auto wanted =
        static_cast<std::uint64_t>(std::min<std::int64_t>(kTokensBesideExperts, model.config().context));
    const auto fits = [&](int on_host) {
        return tokens_in(cut_equally(model, split, on_host), bytes_per_gpu) >= wanted;
    };
    int too_few = 0, enough = layers_with_experts(model.config());
    if (enough == 0 || !fits(enough)) return std::nullopt;
    while (enough - too_few > 1) {
        const int middle = (enough + too_few) / 2;
        (fits(middle) ? enough : too_few) = middle;
    }
    std::uint64_t bytes = 0;
    for (const StageNeeds& stage : cut_equally(model, split, enough))
        bytes = std::max(bytes, stage.host_experts);
    return std::pair{enough, bytes};
}

std::string room_text(const ModelSource& model, const Split& split, const std::vector<StageNeeds>& stages,
                      std::uint64_t bytes_per_gpu) {
    if (const std::uint64_t tokens = tokens_in(stages, bytes_per_gpu); tokens > 0)
        return count_text(static_cast<std::int64_t>(tokens));
    const auto host = least_on_host(model, split, bytes_per_gpu);
    return host ? fmt::format("{} on host, {}", host->first, bytes_text(static_cast<double>(host->second)))
                : "does not fit";
}

std::string needs_row(const ModelSource& model, int gpus) {
    const Split split = widest_split(model, gpus);
    if (split.pipeline_stages > model.config().layers) return {};
    const auto stages = cut_equally(model, split, 0);
    std::uint64_t weights = 0, kv = 0;
    for (const StageNeeds& stage : stages) {
        weights = std::max(weights, stage.weights);
        kv = std::max(kv, stage.kv_per_token);
    }
    const auto room = [&](double gib) {
        const double reserved = reserved_bytes_of_gpu(split.tensor_parallel) + working_of_one;
        return room_text(model, split, stages, static_cast<std::uint64_t>(gib * kGiB - reserved));
    };
    return fmt::format("{:>4}  {:<10}{:>13}{:>15}{:>{}}{:>{}}\n", gpus,
                       fmt::format("TP{} x PP{}", split.tensor_parallel, split.pipeline_stages),
                       bytes_text(static_cast<double>(weights)), bytes_text(static_cast<double>(kv) * 1000),
                       room(16), room_columns(model), room(32), room_columns(model));
}

}  // namespace

std::string config_text(const ModelSource& model) {
    const ModelConfig& config = model.config();
    const WeightBytes bytes = weight_bytes(model);
    const bool billions = bytes.weights >= 1'000'000'000;
    std::string text;
    text += line(
        "family",
        fmt::format("{}{}", config.family->name,
                    config.model_name.empty() ? "" : fmt::format(" ({})", printable(config.model_name))));
    const auto count = [&](std::uint64_t weights) {
        return fmt::format("{:.2f} {}", static_cast<double>(weights) * (billions ? 1e-9 : 1e-6),
                           billions ? "billion" : "million");
    };
    text += line("weights",
                 count(bytes.weights) + ", " + bytes_text(static_cast<double>(bytes.total)) +
                     (bytes.active < bytes.weights ? "; " + count(bytes.active) + " for each token" : ""));
    text += line("formats", format_text(bytes));
    if (const std::string packed = quantization_text(config.quantization); !packed.empty())
        text += line("in the files", packed + ", converted while loading");
    text += line("shape", fmt::format("{} layers, hidden {}, {}, vocabulary {}{}", config.layers,
                                      config.hidden, feed_forward_text(config), count_text(config.vocab),
                                      config.tied_embeddings ? ", head tied to the embedding" : ""));
    text += line("attention", attention_text(config));
    text += line("context", count_text(config.context) + " tokens");
    text += line("RoPE", rope_text(config));
    text += line("can be cut", tensor_parallel_text(model));
    text += line("tokenizer", token_text(config));
    const auto size_text = [&](std::uint64_t sum) { return bytes_text(static_cast<double>(sum)); };
    text += line(
        "in memory",
        fmt::format(
            "embedding {}, head {}, a layer {} to {}; keys and values of a token {}",
            size_text(bytes.embedding), size_text(bytes.head), size_text(std::ranges::min(bytes.layers)),
            size_text(std::ranges::max(bytes.layers)),
            size_text(kv_bytes_per_token_and_layer(config) * static_cast<std::uint64_t>(config.layers))));
    return text;
}

std::string needs_text(const ModelSource& model) {
    const int columns = room_columns(model);
    std::string text = fmt::format("{:>4}  {:<10}{:>13}{:>15}{:>{}}{:>{}}\n", "GPUs", "split", "weights/GPU",
                                   "KV/1000 tok.", "tokens, 16 GB", columns, "tokens, 32 GB", columns);
    for (const int gpus : {1, 2, 4, 8}) text += needs_row(model, gpus);
    if (text.find(" on host") != std::string::npos)
        text += fmt::format(
            "N on host: fits with {} tokens if the experts of N layers stay in host memory "
            "(--experts-on-host); the bytes are for each GPU.\n",
            count_text(std::min<std::int64_t>(kTokensBesideExperts, model.config().context)));
    return text + fmt::format(
                      "The fullest GPU of each split; tokens: of all sequences together, after {} for CUDA "
                      "and working space, with TP {} more to connect the GPUs.\n",
                      bytes_text(reserved_bytes_of_gpu(1) + working_of_one),
                      bytes_text(connection_bytes_of_gpu));
}

}  // namespace voltpile::llm
