#include "llm/model/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

constexpr std::array<std::string_view, 5> kScalings = {"none", "linear", "llama3", "yarn", "longrope"};

// Far above every model, and low enough that no product of two of them overflows.
constexpr std::int64_t kMaxLayers = 1 << 12;
constexpr std::int64_t kMaxHeads = 1 << 12;
constexpr std::int64_t kMaxHeadDim = 1 << 10;
constexpr std::int64_t kMaxWidth = 1 << 24;
constexpr std::int64_t kMaxContext =
    std::numeric_limits<int>::max();  // tokens of a sequence are counted in int

class Problems {
  public:
    void check_range(std::string_view what, std::int64_t value, std::int64_t least, std::int64_t most) {
        if (value < least || value > most)
            add(fmt::format("{} is {}, not from {} to {}", what, value, least, most));
    }
    void check_positive(std::string_view what, double value) {
        if (!std::isfinite(value) || value <= 0)
            add(fmt::format("{} is {}, not a positive number", what, value));
    }
    void add(const std::string& problem) { text_ += (text_.empty() ? "" : "; ") + problem; }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

// The number of tensors stays within what any published model has a few times over.
constexpr std::int64_t kMostExpertsOfLayers = 1 << 17;

void check_router(const Experts& experts, Problems& problems) {
    problems.check_positive("the scale of the experts' weights", experts.scale);
    if (experts.choice_bias && !experts.sigmoid)
        problems.add("a bias of the choice of experts needs a sigmoid router");
    problems.check_range("the number of groups of experts", experts.groups, 1, kMostExpertGroups);
    problems.check_range("the number of groups of a token", experts.used_groups, 1,
                         std::clamp<std::int64_t>(experts.groups, 1, kMostExpertGroups));
    if (experts.groups < 1 || experts.count < 1 || experts.count > kMostExperts) return;
    const std::int64_t in_group = experts.count / experts.groups;
    if (experts.count % experts.groups != 0)
        problems.add(fmt::format("{} groups do not divide {} experts", experts.groups, experts.count));
    // The two best experts rank a group of a sigmoid router.
    else if (experts.groups > 1 && experts.sigmoid && in_group < 2)
        problems.add("groups of a sigmoid router have one expert each");
    else if (experts.used <= experts.count && experts.used > experts.used_groups * in_group)
        problems.add(fmt::format("{} groups of {} experts have fewer than the {} of a token",
                                 experts.used_groups, in_group, experts.used));
}

void check_experts(const ModelConfig& config, Problems& problems) {
    const Experts& experts = config.experts;
    if (has_dense_layers(config)) problems.check_range("the feed-forward size", config.ffn, 1, kMaxWidth);
    if (experts.count == 0 && (config.family == nullptr || !config.family->mixture)) return;
    problems.check_range("the number of experts", experts.count, 1, kMostExperts);
    problems.check_range("the number of experts of a token", experts.used, 1,
                         std::clamp<std::int64_t>(experts.count, 1, kMostUsedExperts));
    problems.check_range("the feed-forward size of an expert", experts.ffn, 1, kMaxWidth);
    problems.check_range("the feed-forward size of the shared expert", experts.shared_ffn, 0, kMaxWidth);
    check_router(experts, problems);
    if (experts.count > 0 && config.layers > kMostExpertsOfLayers / experts.count)
        problems.add(
            fmt::format("{} layers with {} experts each are too many", config.layers, experts.count));
}

void check_latent(const ModelConfig& config, Problems& problems) {
    const LatentAttention& latent = config.latent;
    if (latent.kv_rank == 0) return;
    problems.check_range("the rank of keys and values", latent.kv_rank, 1, kMaxHeadDim);
    problems.check_range("the rank of queries", latent.q_rank, 0, kMaxWidth);
    problems.check_range("the number of elements of a query without RoPE", latent.plain_dim, 1, kMaxHeadDim);
    problems.check_range("the size of a head of values", latent.value_dim, 1, kMaxHeadDim);
}

void check_rope(const ModelConfig& config, Problems& problems) {
    problems.check_positive("rope theta", config.rope_theta);
    const RopeScaling& scaling = config.rope_scaling;
    if (scaling.attention_factor != 0) problems.check_positive("attention_factor", scaling.attention_factor);
    if (scaling.kind == RopeScalingKind::None) return;
    problems.check_positive("the factor of rope scaling", scaling.factor);
    if (scaling.kind == RopeScalingKind::Linear) return;
    problems.check_range("the original context of rope scaling", scaling.original_context, 1, kMaxContext);
    if (scaling.kind == RopeScalingKind::Llama3) {
        problems.check_positive("low_freq_factor", scaling.low_frequency_factor);
        if (!(scaling.high_frequency_factor > scaling.low_frequency_factor))
            problems.add("high_freq_factor is not above low_freq_factor");
    } else if (scaling.kind == RopeScalingKind::LongRope) {
        const auto pairs = static_cast<std::size_t>(std::max<std::int64_t>(config.rope_dims, 0) / 2);
        for (const auto& factors : {scaling.short_factors, scaling.long_factors}) {
            if (factors.size() != pairs)
                problems.add(fmt::format("{} factors of longrope for {} frequencies", factors.size(), pairs));
            for (const double factor : factors) problems.check_positive("a factor of longrope", factor);
        }
    } else {
        problems.check_positive("beta_slow", scaling.beta_slow);
        if (!(scaling.beta_fast > scaling.beta_slow)) problems.add("beta_fast is not above beta_slow");
    }
}

}  // namespace

double rope_magnitude(const RopeScaling& scaling) {
    if (scaling.attention_factor > 0) return scaling.attention_factor;
    if (scaling.factor <= 1) return 1;
    if (scaling.kind == RopeScalingKind::Yarn) return 0.1 * std::log(scaling.factor) + 1;
    if (scaling.kind == RopeScalingKind::LongRope)
        return std::sqrt(1 +
                         std::log(scaling.factor) / std::log(static_cast<double>(scaling.original_context)));
    return 1;
}

std::string_view name(RopeScalingKind kind) {
    return kScalings[static_cast<std::size_t>(kind)];
}

const EagleHead* eagle_head_of(const ModelConfig& config) {
    return config.prediction && config.prediction->eagle ? &*config.prediction->eagle : nullptr;
}

bool has_experts(const ModelConfig& config, std::int64_t layer) {
    const auto at = static_cast<std::size_t>(layer);
    return config.experts.count > 0 && (at >= config.layer_dense.size() || !config.layer_dense[at]);
}

bool has_dense_layers(const ModelConfig& config) {
    return config.experts.count == 0 ||
           std::ranges::find(config.layer_dense, true) != config.layer_dense.end();
}

int layers_with_experts(const ModelConfig& config) {
    int count = 0;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) count += has_experts(config, layer);
    return count;
}

int first_layer_on_host(const ModelConfig& config, int on_host) {
    auto layer = static_cast<int>(config.layers);
    while (layer > 0 && on_host > 0) on_host -= has_experts(config, --layer);
    return layer;
}

void check_config(const ModelConfig& config, std::string_view path) {
    Problems problems;
    problems.check_range("the number of layers", config.layers, 1, kMaxLayers);
    problems.check_range("the hidden size", config.hidden, 1, kMaxWidth);
    problems.check_range("the number of heads", config.heads, 1, kMaxHeads);
    problems.check_range("the number of KV heads", config.kv_heads, 1, kMaxHeads);
    problems.check_range("the head dimension", config.head_dim, 2, kMaxHeadDim);
    problems.check_range("the number of rotated elements of a head", config.rope_dims, 2, config.head_dim);
    check_latent(config, problems);
    check_experts(config, problems);
    problems.check_range("the vocabulary", config.vocab, 1, kMaxWidth);
    problems.check_range("the context", config.context, 1, kMaxContext);
    problems.check_range("the number of layers that predict further tokens", config.prediction_layers, 0,
                         kMaxLayers);
    problems.check_range("the sliding window", config.sliding_window, 0, kMaxContext);
    if (config.kv_heads > 0 && config.heads % config.kv_heads != 0)
        problems.add(fmt::format("{} KV heads do not divide {} heads", config.kv_heads, config.heads));
    if (config.head_dim % 2 != 0) problems.add(fmt::format("the head dimension {} is odd", config.head_dim));
    if (config.rope_dims % 2 != 0)
        problems.add(fmt::format("the number of rotated elements of a head, {}, is odd", config.rope_dims));
    problems.check_positive("the epsilon of the norms", config.rms_eps);
    check_rope(config, problems);
    for (const auto& [what, value] : {std::pair{"the scale of embeddings", config.embedding_scale},
                                      {"the scale of the residual stream", config.residual_scale},
                                      {"the scale of logits", config.logit_scale}})
        problems.check_positive(what, value);
    for (const auto& [what, value] : {std::pair{"the scale of attention", config.attention_scale},
                                      {"the soft cap of attention", config.attention_soft_cap},
                                      {"the soft cap of logits", config.logit_soft_cap},
                                      {"RoPE theta of windows", config.window_rope_theta}})
        if (value != 0) problems.check_positive(what, value);
    if (config.bos_id < -1 || config.bos_id >= config.vocab)
        problems.add(fmt::format("the begin-of-sequence token {} is not in the vocabulary", config.bos_id));
    for (const std::int64_t id : config.eos_ids)
        if (id < 0 || id >= config.vocab)
            problems.add(fmt::format("the end-of-sequence token {} is not in the vocabulary", id));
    if (!problems.text().empty())
        throw FileError(fmt::format("{}: {}", path, problems.text()), ExitCode::BadInput);
}

}  // namespace voltpile::llm
