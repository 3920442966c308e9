#include "llm/model/gguf_model_keys.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

class ModelKeys {
  public:
    ModelKeys(const ModelConfig& config, GgufWriter& file)
        : config_(config), keys_(config.family->architecture, file) {}

    void add_sizes() {
        keys_.integer("block_count", config_.layers);
        keys_.integer("context_length", config_.context);
        keys_.integer("embedding_length", config_.hidden);
        keys_.integer("feed_forward_length", config_.ffn);
        keys_.integer("attention.head_count", config_.heads);
        add_heads();
        keys_.integer("vocab_size", config_.vocab);
        keys_.real("attention.layer_norm_rms_epsilon", config_.rms_eps);
        const bool needed = config_.family->architecture == "gpt-oss";  // also where no layer slides
        if (needed || config_.sliding_window > 0)
            keys_.integer("attention.sliding_window", config_.sliding_window);
    }

    void add_heads() {
        const LatentAttention& latent = config_.latent;
        const bool is_latent = latent.kv_rank > 0;
        keys_.integer("attention.head_count_kv", is_latent ? config_.heads : config_.kv_heads);
        keys_.integer("attention.key_length",
                      is_latent ? latent.plain_dim + config_.rope_dims : config_.head_dim);
        keys_.integer("attention.value_length", is_latent ? latent.value_dim : config_.head_dim);
        if (!is_latent) return;
        keys_.integer("attention.kv_lora_rank", latent.kv_rank);
        if (latent.q_rank > 0) keys_.integer("attention.q_lora_rank", latent.q_rank);
    }

    void add_experts() {
        const Experts& experts = config_.experts;
        if (experts.count == 0) return;
        keys_.integer("expert_count", experts.count);
        keys_.integer("expert_used_count", experts.used);
        keys_.integer("expert_feed_forward_length", experts.ffn);
        if (experts.shared_gate)
            keys_.integer("expert_shared_feed_forward_length", experts.shared_ffn);
        else if (experts.shared_ffn > 0)
            keys_.integer("expert_shared_count", experts.shared_ffn / experts.ffn);
        // llama.cpp needs these keys for families with ungated shared experts, or has other defaults.
        const bool grouped = experts.shared_ffn > 0 && !experts.shared_gate;
        const auto dense = std::ranges::find(config_.layer_dense, false) - config_.layer_dense.begin();
        if (grouped || dense > 0) keys_.integer("leading_dense_block_count", dense);
        if (experts.sigmoid) keys_.integer("expert_gating_func", 2);
        if (grouped || experts.scale != 1) keys_.real("expert_weights_scale", experts.scale);
        if (experts.used_groups < experts.groups) {
            keys_.integer("expert_group_count", experts.groups);
            keys_.integer("expert_group_used_count", experts.used_groups);
        }
        if (grouped || experts.normalized != config_.family->normalized_experts)
            keys_.flag("expert_weights_norm", experts.normalized);
    }

    void add_rope() {
        keys_.integer("rope.dimension_count", config_.rope_dims);
        keys_.real("rope.freq_base", config_.rope_theta);
        const RopeScaling& scaling = config_.rope_scaling;
        if (scaling.kind == RopeScalingKind::LongRope) {
            keys_.integer("rope.scaling.original_context_length", scaling.original_context);
            keys_.real("rope.scaling.attn_factor", rope_magnitude(scaling));
        }
        if (scaling.kind != RopeScalingKind::Linear && scaling.kind != RopeScalingKind::Yarn) return;
        const bool yarn = scaling.kind == RopeScalingKind::Yarn;
        keys_.text("rope.scaling.type", yarn ? "yarn" : "linear");
        keys_.real("rope.scaling.factor", scaling.factor);
        if (!yarn) return;
        keys_.integer("rope.scaling.original_context_length", scaling.original_context);
        // Relative to YaRN's own factor of cos and sin.
        if (scaling.attention_factor > 0 && config_.latent.kv_rank == 0)
            keys_.real("rope.scaling.yarn_attn_factor",
                       scaling.attention_factor / (0.1 * std::log(scaling.factor) + 1));
        keys_.real("rope.scaling.yarn_beta_fast", scaling.beta_fast);
        keys_.real("rope.scaling.yarn_beta_slow", scaling.beta_slow);
    }

    void add_of_family() {
        if (config_.family->write_gguf != nullptr) config_.family->write_gguf(config_, keys_);
    }

  private:
    const ModelConfig& config_;
    GgufKeyWriter keys_;
};

}  // namespace

void add_model_keys(const ModelConfig& config, GgufWriter& file) {
    file.add("general.architecture", config.family->architecture);
    ModelKeys keys(config, file);
    keys.add_sizes();
    keys.add_experts();
    keys.add_rope();
    keys.add_of_family();
}

}  // namespace voltpile::llm
