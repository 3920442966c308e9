// SmolLM 3. Every fourth layer has no position embedding (NoPE).
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

void read_smollm3(const JsonKeys& keys, ModelConfig& config) {
    if (keys.boolean("use_sliding_window").value_or(false))
        keys.fail("\"use_sliding_window\": true is not supported");
    config.layer_rotates = each_layer(config, true);
    const auto listed = keys.integers("no_rope_layers");  // 0: a layer without RoPE
    const auto interval = keys.integer("no_rope_layer_interval").value_or(4);
    if (listed.empty() && interval < 1) keys.fail("\"no_rope_layer_interval\" is not positive");
    if (!listed.empty() && listed.size() < config.layer_rotates.size())
        keys.fail("\"no_rope_layers\" has fewer entries than the model has layers");
    for (std::size_t i = 0; i < config.layer_rotates.size(); ++i)
        config.layer_rotates[i] =
            listed.empty() ? static_cast<std::int64_t>(i + 1) % interval != 0 : listed[i] != 0;
}

// As in llama.cpp, the files do not say which layers have no RoPE.
void read_smollm3_gguf(const GgufKeys&, ModelConfig& config) {
    config.layer_rotates = each_layer(config, true);
    for (std::size_t i = 3; i < config.layer_rotates.size(); i += 4) config.layer_rotates[i] = false;
}

}  // namespace

extern const ModelFamily kSmolLm3;
const ModelFamily kSmolLm3 = {
    .name = "SmolLM 3",
    .supported = "SmolLM 3",
    .model_type = "smollm3",
    .architecture = "smollm3",
    .rope_in_gguf = RopeStyle::Interleaved,
    .folder_defaults = R"({"tie_word_embeddings": true, "rope_theta": 2000000.0})",
    .read_folder = read_smollm3,
    .read_gguf = read_smollm3_gguf,
};

}  // namespace voltpile::llm
