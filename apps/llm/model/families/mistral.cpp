// Mistral. Its GGUF files have the architecture of Llama.
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

// As in transformers: the window applies to all layers unless layer_types says otherwise.
void read_mistral(const JsonKeys& keys, ModelConfig& config) {
    const auto window = keys.integer("sliding_window");
    if (!window) return;
    std::vector<bool> slides = sliding_layers(keys, config);
    set_window(config, *window, slides.empty() ? each_layer(config, true) : slides);
}

}  // namespace

extern const ModelFamily kMistral;
const ModelFamily kMistral = {
    .name = "Mistral",
    .supported = "Mistral",
    .model_type = "mistral",
    .model_type_with_images = "mistral3",
    .architecture = "llama",
    .word_in_gguf_name = "mistral",
    .rope_in_gguf = RopeStyle::Interleaved,
    .begins_with_bos = true,
    .read_folder = read_mistral,
};

}  // namespace voltpile::llm
