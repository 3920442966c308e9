#include "llm/model/families/grouped_experts.h"

#include <fmt/format.h>

#include <limits>

namespace voltpile::llm {

void read_grouped_experts(const JsonKeys& keys, ModelConfig& config) {
    Experts& experts = config.experts;
    experts.count = keys.required_integer("n_routed_experts");
    experts.used = keys.required_integer("num_experts_per_tok");
    experts.ffn = keys.required_integer("moe_intermediate_size");
    const std::int64_t shared = keys.integer("n_shared_experts").value_or(0);
    if (shared < 0 || shared > kMostExperts || experts.ffn > std::numeric_limits<std::int32_t>::max())
        keys.fail(fmt::format("{} shared experts of size {} are out of range", shared, experts.ffn));
    experts.shared_ffn = shared * experts.ffn;
    experts.choice_bias = experts.sigmoid;
    experts.normalized = keys.boolean("norm_topk_prob").value_or(experts.normalized);
    experts.groups = keys.integer("n_group").value_or(1);
    experts.used_groups = keys.integer("topk_group").value_or(experts.groups);
    experts.scale = keys.real("routed_scaling_factor").value_or(1);
    set_dense_begin(config, keys.integer("first_k_dense_replace").value_or(0));
    if (const auto step = keys.integer("moe_layer_freq"); step && *step != 1)
        keys.fail(fmt::format("\"moe_layer_freq\": {} is not supported (supported: 1)", *step));
    config.prediction_layers = keys.integer("num_nextn_predict_layers").value_or(0);
}

}  // namespace voltpile::llm
