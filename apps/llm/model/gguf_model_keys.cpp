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
        : config_(config), file_(file), prefix_(std::string(config.family->architecture) + ".") {}

    void add_sizes() {
        integer("block_count", config_.layers);
        integer("context_length", config_.context);
        integer("embedding_length", config_.hidden);
        integer("feed_forward_length", config_.ffn);
        integer("attention.head_count", config_.heads);
        add_heads();
        integer("vocab_size", config_.vocab);
        real("attention.layer_norm_rms_epsilon", config_.rms_eps);
        if (config_.sliding_window > 0) integer("attention.sliding_window", config_.sliding_window);
    }

    void add_heads() {
        const LatentAttention& latent = config_.latent;
        const bool is_latent = latent.kv_rank > 0;
        integer("attention.head_count_kv", is_latent ? config_.heads : config_.kv_heads);
        integer("attention.key_length", is_latent ? latent.plain_dim + config_.rope_dims : config_.head_dim);
        integer("attention.value_length", is_latent ? latent.value_dim : config_.head_dim);
        if (!is_latent) return;
        integer("attention.kv_lora_rank", latent.kv_rank);
        if (latent.q_rank > 0) integer("attention.q_lora_rank", latent.q_rank);
    }

    void add_experts() {
        const Experts& experts = config_.experts;
        if (experts.count == 0) return;
        integer("expert_count", experts.count);
        integer("expert_used_count", experts.used);
        integer("expert_feed_forward_length", experts.ffn);
        if (experts.shared_gate)
            integer("expert_shared_feed_forward_length", experts.shared_ffn);
        else if (experts.shared_ffn > 0)
            integer("expert_shared_count", experts.shared_ffn / experts.ffn);
        const auto dense = std::ranges::find(config_.layer_dense, false) - config_.layer_dense.begin();
        if (dense > 0) integer("leading_dense_block_count", dense);
        if (experts.sigmoid) integer("expert_gating_func", 2);
        if (experts.scale != 1) real("expert_weights_scale", experts.scale);
        if (experts.groups > 1) {
            integer("expert_group_count", experts.groups);
            integer("expert_group_used_count", experts.used_groups);
        }
        if (experts.normalized != config_.family->normalized_experts)
            file_.add(prefix_ + "expert_weights_norm", experts.normalized);
    }

    void add_rope() {
        integer("rope.dimension_count", config_.rope_dims);
        real("rope.freq_base", config_.rope_theta);
        const RopeScaling& scaling = config_.rope_scaling;
        if (scaling.kind != RopeScalingKind::Linear && scaling.kind != RopeScalingKind::Yarn) return;
        const bool yarn = scaling.kind == RopeScalingKind::Yarn;
        file_.add(prefix_ + "rope.scaling.type", yarn ? "yarn" : "linear");
        real("rope.scaling.factor", scaling.factor);
        if (!yarn) return;
        integer("rope.scaling.original_context_length", scaling.original_context);
        // Relative to YaRN's own factor of cos and sin.
        if (scaling.attention_factor > 0)
            real("rope.scaling.yarn_attn_factor",
                 scaling.attention_factor / (0.1 * std::log(scaling.factor) + 1));
        real("rope.scaling.yarn_beta_fast", scaling.beta_fast);
        real("rope.scaling.yarn_beta_slow", scaling.beta_slow);
    }

  private:
    void integer(const char* key, std::int64_t value) {
        file_.add(prefix_ + key, static_cast<std::uint32_t>(value));
    }
    void real(const char* key, double value) { file_.add(prefix_ + key, static_cast<float>(value)); }

    const ModelConfig& config_;
    GgufWriter& file_;
    std::string prefix_;
};

}  // namespace

void add_model_keys(const ModelConfig& config, GgufWriter& file) {
    file.add("general.architecture", config.family->architecture);
    ModelKeys keys(config, file);
    keys.add_sizes();
    keys.add_experts();
    keys.add_rope();
}

}  // namespace voltpile::llm
