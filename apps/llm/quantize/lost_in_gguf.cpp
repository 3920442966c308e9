#include "llm/quantize/lost_in_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "llm/decoder/rope_frequencies.h"
#include "llm/model/gguf_config.h"
#include "llm/model/gguf_model_keys.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

// Keys are fp32.
bool close(double a, double b) {
    return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

bool close(const RopeFrequencies& a, const RopeFrequencies& b) {
    return close(a.magnitude, b.magnitude) &&
           std::ranges::equal(a.frequencies, b.frequencies,
                              [](float x, float y) { return std::abs(x - y) <= 1e-5F * std::abs(x); });
}

double attention_scale(const ModelConfig& config) {
    return config.attention_scale > 0 ? config.attention_scale
                                      : 1 / std::sqrt(static_cast<double>(config.head_dim));
}

std::vector<bool> all_if_empty(const ModelConfig& config, const std::vector<bool>& flags) {
    return flags.empty() ? each_layer(config, true) : flags;
}

bool same_sizes(const ModelConfig& a, const ModelConfig& b) {
    return a.layers == b.layers && a.hidden == b.hidden && a.heads == b.heads && a.kv_heads == b.kv_heads &&
           a.head_dim == b.head_dim && a.rope_dims == b.rope_dims && a.ffn == b.ffn && a.vocab == b.vocab &&
           a.context == b.context && a.latent.kv_rank == b.latent.kv_rank &&
           a.latent.q_rank == b.latent.q_rank && a.latent.plain_dim == b.latent.plain_dim &&
           a.latent.value_dim == b.latent.value_dim && close(a.rms_eps, b.rms_eps);
}

bool same_groups(const Experts& a, const Experts& b) {
    const bool all_of_a = a.used_groups >= a.groups, all_of_b = b.used_groups >= b.groups;
    return (all_of_a && all_of_b) || (a.groups == b.groups && a.used_groups == b.used_groups);
}

bool same_experts(const Experts& a, const Experts& b) {
    return a.count == b.count && a.used == b.used && a.ffn == b.ffn && a.shared_ffn == b.shared_ffn &&
           a.normalized == b.normalized && a.shared_gate == b.shared_gate && a.sigmoid == b.sigmoid &&
           a.choice_bias == b.choice_bias && same_groups(a, b) && close(a.scale, b.scale);
}

// Llama 3's scaling is a tensor of factors, and longrope's factors are tensors, too.
bool same_rope(const ModelConfig& a, const ModelConfig& b) {
    const RopeScaling& scaling = a.rope_scaling;
    if (scaling.kind == RopeScalingKind::LongRope)
        return close(rope_frequencies(a, {}, a.context).magnitude,
                     rope_frequencies(b, {}, b.context).magnitude) &&
               scaling.original_context == b.rope_scaling.original_context;
    if (scaling.kind == RopeScalingKind::Llama3) return close(a.rope_theta, b.rope_theta);
    return close(rope_frequencies(a, {}, a.context), rope_frequencies(b, {}, b.context)) &&
           close(a.window_rope_theta, b.window_rope_theta);
}

// The tensors as the reader of descriptions needs them: their names, and the factors of longrope.
class DescribedTensors {
  public:
    explicit DescribedTensors(const ModelSource& model) {
        for (const ModelTensor& tensor : model.tensors())
            add(tensor.name, tensor.rows, tensor.columns, nullptr);
        const RopeScaling& scaling = model.config().rope_scaling;
        if (scaling.kind != RopeScalingKind::LongRope) return;
        short_.assign(scaling.short_factors.begin(), scaling.short_factors.end());
        long_.assign(scaling.long_factors.begin(), scaling.long_factors.end());
        add("rope_factors_short.weight", 1, short_.size(), short_.data());
        add("rope_factors_long.weight", 1, long_.size(), long_.data());
    }
    const StoredTensors& tensors() const { return tensors_; }

  private:
    void add(const std::string& name, std::size_t rows, std::size_t columns, const float* data) {
        tensors_[name] = {WeightFormat::F32,
                          2,
                          rows,
                          columns,
                          reinterpret_cast<const std::byte*>(data),
                          0,
                          rows * columns * sizeof(float)};
    }

    std::vector<float> short_, long_;
    StoredTensors tensors_;
};

}  // namespace

std::string gguf_model_name(const ModelConfig& config) {
    const ModelFamily& family = *config.family;
    const std::string& name = config.model_name;
    for (const std::string& candidate : {name, fmt::format("{} ({})", family.name, name)})
        if (!name.empty() &&
            family_of_gguf(family.architecture, candidate, config.experts.count > 0) == &family)
            return candidate;
    return std::string(family.name);
}

std::vector<std::string> lost_in_gguf(const ModelSource& model) {
    const ModelConfig& config = model.config();
    GgufWriter keys;
    add_model_keys(config, keys);
    keys.add("general.name", gguf_model_name(config));
    const std::string header = keys.header({});
    const GgufFile file(std::as_bytes(std::span(header)), std::string(config.family->name));
    const DescribedTensors described(model);
    const ModelConfig read = config_from_gguf(file, described.tensors());
    std::vector<std::string> lost;
    const auto check = [&](bool same, const char* what) {
        if (!same) lost.emplace_back(what);
    };
    check(read.family == config.family, "family");
    check(same_sizes(read, config), "sizes");
    check(read.blocks == config.blocks, "biases or norms");
    check(read.layer_dense == config.layer_dense, "layers without experts");
    check(same_experts(read.experts, config.experts), "rules for experts");
    check(same_rope(config, read), "RoPE");
    check(all_if_empty(read, read.layer_rotates) == all_if_empty(config, config.layer_rotates),
          "layers without RoPE");
    check(read.sliding_window == config.sliding_window && read.layer_slides == config.layer_slides,
          "sliding window");
    check(close(attention_scale(read), attention_scale(config)), "scale of attention");
    check(close(read.attention_soft_cap, config.attention_soft_cap) &&
              close(read.logit_soft_cap, config.logit_soft_cap),
          "caps of scores and logits");
    check(close(read.embedding_scale, config.embedding_scale) &&
              close(read.residual_scale, config.residual_scale) &&
              close(read.logit_scale, config.logit_scale),
          "scales of embedding, residual stream and logits");
    // Rows of Q and K are put into the order of the architecture, but for those of latent attention.
    check(config.latent.kv_rank == 0 || read.rope_style == config.rope_style, "order of RoPE");
    return lost;
}

}  // namespace voltpile::llm
