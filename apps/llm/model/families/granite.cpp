// Granite 3: Llama with multipliers.
#include "llm/model/gguf_model_keys.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

void read_granite(const JsonKeys& keys, ModelConfig& config) {
    config.embedding_scale = keys.real("embedding_multiplier").value_or(1);
    config.residual_scale = keys.real("residual_multiplier").value_or(1);
    config.attention_scale = keys.real("attention_multiplier").value_or(1);
    const double divisor = keys.real("logits_scaling").value_or(1);
    if (divisor == 0) keys.fail("\"logits_scaling\" is 0");
    config.logit_scale = 1 / divisor;
}

// As in llama.cpp, a residual scale of 0 means 1, and an attention scale of 0 means 1 / sqrt(head_dim).
void read_granite_gguf(const GgufKeys& keys, ModelConfig& config) {
    config.embedding_scale = keys.find_real("embedding_scale").value_or(1);
    const double residual = keys.find_real("residual_scale").value_or(0);
    config.residual_scale = residual == 0 ? 1 : residual;
    config.attention_scale = keys.find_real("attention.scale").value_or(0);
    const double divisor = keys.real("logit_scale");
    if (divisor == 0) keys.fail(keys.full("logit_scale") + " is 0");
    config.logit_scale = 1 / divisor;
    if (keys.file().find<bool>(keys.full("rope.scaling.finetuned")) == false)
        config.layer_rotates = each_layer(config, false);
}

void write_granite_gguf(const ModelConfig& config, GgufKeyWriter& keys) {
    keys.real("embedding_scale", config.embedding_scale);
    keys.real("residual_scale", config.residual_scale);
    keys.real("attention.scale", config.attention_scale);
    keys.real("logit_scale", 1 / config.logit_scale);
}

}  // namespace

extern const ModelFamily kGranite;
const ModelFamily kGranite = {
    .name = "Granite 3",
    .supported = "Granite 3",
    .model_type = "granite",
    .architecture = "granite",
    .rope_in_gguf = RopeStyle::Interleaved,
    .read_folder = read_granite,
    .read_gguf = read_granite_gguf,
    .write_gguf = write_granite_gguf,
};

}  // namespace voltpile::llm
