// Gemma 2 and 3 (text). In folders their norms multiply by 1 + weight; GGUF files store the sum.
#include <array>
#include <cmath>

#include "llm/model/gguf_model_keys.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

constexpr std::array kGemmaNames = {
    TensorName{"post_attention_layernorm.weight", "post_attention_norm.weight"},
    TensorName{"pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    TensorName{"post_feedforward_layernorm.weight", "post_ffw_norm.weight"}};
constexpr std::array<std::string_view, 1> kGemmaEnds = {"<end_of_turn>"};

// All but every period-th layer slide.
void slide_by_period(std::int64_t window, std::int64_t period, ModelConfig& config) {
    std::vector<bool> slides = each_layer(config, true);
    for (std::size_t i = 0; i < slides.size(); ++i)
        slides[i] = period < 1 || static_cast<std::int64_t>(i + 1) % period != 0;
    set_window(config, window, slides);
}

void read_gemma(const JsonKeys& keys, ModelConfig& config, std::int64_t period) {
    if (keys.boolean("use_bidirectional_attention").value_or(false))
        keys.fail("\"use_bidirectional_attention\": true is not supported");
    config.norm_offset = 1;
    config.embedding_scale = std::sqrt(static_cast<double>(config.hidden));
    const double scalar = keys.real("query_pre_attn_scalar").value_or(256);
    if (!(scalar > 0)) keys.fail("\"query_pre_attn_scalar\" is not a positive number");
    config.attention_scale = 1 / std::sqrt(scalar);
    config.attention_soft_cap = keys.real("attn_logit_softcapping").value_or(0);
    config.logit_soft_cap = keys.real("final_logit_softcapping").value_or(0);
    const auto window = keys.integer("sliding_window");
    if (!window) return;
    if (const std::vector<bool> slides = sliding_layers(keys, config); !slides.empty())
        set_window(config, *window, slides);
    else
        slide_by_period(*window, period, config);
}

void read_gemma2(const JsonKeys& keys, ModelConfig& config) {
    read_gemma(keys, config, 2);
}

// Layers that slide have a RoPE theta of their own, without scaling. transformers 5 stores both kinds in
// "rope_parameters".
void read_gemma3(const JsonKeys& keys, ModelConfig& config) {
    read_gemma(keys, config, keys.integer("sliding_window_pattern").value_or(6));
    config.window_rope_theta = keys.real("rope_local_base_freq").value_or(10000);
    const auto parameters = keys.object("rope_parameters");
    if (!parameters) return;
    if (const auto sliding = parameters->object("sliding_attention")) {
        config.window_rope_theta = sliding->real("rope_theta").value_or(config.window_rope_theta);
        if (sliding->text("rope_type").value_or("default") != "default")
            keys.fail("RoPE scaling of sliding layers is not supported");
    }
}

void read_gemma_gguf(const GgufKeys& keys, ModelConfig& config, std::int64_t period,
                     std::int64_t layers_of_27b) {
    config.embedding_scale = std::sqrt(static_cast<double>(config.hidden));
    // As in llama.cpp: the files lack query_pre_attn_scalar, which is hidden / heads in the 27B models.
    if (config.layers == layers_of_27b && config.heads > 0)
        config.attention_scale =
            1 / std::sqrt(static_cast<double>(config.hidden) / static_cast<double>(config.heads));
    // Without the keys, llama.cpp has the caps of the published models.
    const bool caps = period == 2;
    config.attention_soft_cap = keys.find_real("attn_logit_softcapping").value_or(caps ? 50 : 0);
    config.logit_soft_cap = keys.find_real("final_logit_softcapping").value_or(caps ? 30 : 0);
    slide_by_period(keys.find_integer("attention.sliding_window").value_or(period == 2 ? 4096 : 0), period,
                    config);
}

void read_gemma2_gguf(const GgufKeys& keys, ModelConfig& config) {
    read_gemma_gguf(keys, config, 2, 46);
}

void read_gemma3_gguf(const GgufKeys& keys, ModelConfig& config) {
    read_gemma_gguf(keys, config, 6, 62);
    config.window_rope_theta = keys.find_real("rope.freq_base_swa").value_or(10000);
}

void write_gemma_gguf(const ModelConfig& config, GgufKeyWriter& keys) {
    if (config.attention_soft_cap > 0) keys.real("attn_logit_softcapping", config.attention_soft_cap);
    if (config.logit_soft_cap > 0) keys.real("final_logit_softcapping", config.logit_soft_cap);
    if (config.window_rope_theta > 0) keys.real("rope.freq_base_swa", config.window_rope_theta);
}

}  // namespace

extern const ModelFamily kGemma2, kGemma3;
const ModelFamily kGemma2 = {
    .name = "Gemma 2",
    .supported = "Gemma 2",
    .model_type = "gemma2",
    .architecture = "gemma2",
    .blocks = {.output_norms = true, .activation = Activation::GeluTanh},
    .folder_defaults = R"({"head_dim": 256, "max_position_embeddings": 8192, "tie_word_embeddings": true,
        "sliding_window": 4096, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})",
    .begins_with_bos = true,
    .names = kGemmaNames,
    .end_texts = kGemmaEnds,
    .read_folder = read_gemma2,
    .read_gguf = read_gemma2_gguf,
    .write_gguf = write_gemma_gguf,
};
const ModelFamily kGemma3 = {
    .name = "Gemma 3",
    .supported = "Gemma 3 (text)",
    .model_type = "gemma3_text",
    .model_type_with_images = "gemma3",
    .architecture = "gemma3",
    .blocks = {.qk_norm = QkNorm::Heads, .output_norms = true, .activation = Activation::GeluTanh},
    .folder_defaults = R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4,
        "head_dim": 256, "max_position_embeddings": 131072, "tie_word_embeddings": true, "rope_theta": 1000000.0,
        "sliding_window": 4096, "bos_token_id": 2, "eos_token_id": 1})",
    .begins_with_bos = true,
    .names = kGemmaNames,
    .end_texts = kGemmaEnds,
    .read_folder = read_gemma3,
    .read_gguf = read_gemma3_gguf,
    .write_gguf = write_gemma_gguf,
};

}  // namespace voltpile::llm
