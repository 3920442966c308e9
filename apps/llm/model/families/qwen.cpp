// Qwen 2, 2.5 and 3.
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

// As in transformers: the window must be switched on and begins at max_window_layers, unless layer_types says
// which layers slide.
void read_qwen(const JsonKeys& keys, ModelConfig& config) {
    const auto window = keys.integer("sliding_window");
    if (!window || !keys.boolean("use_sliding_window").value_or(false)) return;
    std::vector<bool> slides = sliding_layers(keys, config);
    if (slides.empty()) {
        slides = each_layer(config, true);
        const auto full_layers = keys.integer("max_window_layers").value_or(28);
        for (std::size_t i = 0; i < slides.size(); ++i)
            slides[i] = static_cast<std::int64_t>(i) >= full_layers;
    }
    set_window(config, *window, slides);
}

}  // namespace

extern const ModelFamily kQwen2, kQwen3;
const ModelFamily kQwen2 = {
    .name = "Qwen 2",
    .supported = "Qwen 2 and 2.5",
    .model_type = "qwen2",
    .architecture = "qwen2",
    .blocks = {.qkv_bias = true},
    .read_folder = read_qwen,
};
const ModelFamily kQwen3 = {
    .name = "Qwen 3",
    .supported = "Qwen 3",
    .model_type = "qwen3",
    .architecture = "qwen3",
    .blocks = {.qk_norm = QkNorm::Heads},
    .folder_defaults = R"({"head_dim": 128})",
    .read_folder = read_qwen,
};

}  // namespace voltpile::llm
