#include "llm/model/synthetic_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "job/nearest.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

struct Shape {
    std::string_view name;
    std::string_view model_type;
    int layers, hidden, heads, kv_heads, head_dim, ffn, vocab, context;
    double rms_eps, rope_theta;
    int experts = 0, used_experts = 0, expert_ffn = 0, shared_ffn = 0, dense_layers = 0, rope_dims = 0;
    int kv_rank = 0, plain_dim = 0, value_dim = 0;
    int window = 0;            // of all layers but every window_period-th
    int original_context = 0;  // of YaRN; 0: none
    int window_period = 2;
    double attention_soft_cap = 0, logit_soft_cap = 0;
    double window_rope_theta = 0;
    bool tied_embeddings = false, scales_embedding = false;  // by sqrt(hidden)
};

constexpr std::array<Shape, 19> kShapes = {{
    {"llama-3-8b", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 8192, 1e-5, 500000},
    {"llama-3-70b", "llama", 80, 8192, 64, 8, 128, 28672, 128256, 8192, 1e-5, 500000},
    {"llama-3.2-1b", "llama", 16, 2048, 32, 8, 64, 8192, 128256, 131072, 1e-5, 500000},
    {"llama-2-7b", "llama", 32, 4096, 32, 32, 128, 11008, 32000, 4096, 1e-5, 10000},
    {"mistral-7b", "mistral", 32, 4096, 32, 8, 128, 14336, 32000, 32768, 1e-5, 1e6},
    {"qwen-2.5-7b", "qwen2", 28, 3584, 28, 4, 128, 18944, 152064, 32768, 1e-6, 1e6},
    {"qwen-3-8b", "qwen3", 36, 4096, 32, 8, 128, 12288, 151936, 40960, 1e-6, 1e6},
    {.name = "gemma-2-9b",
     .model_type = "gemma2",
     .layers = 42,
     .hidden = 3584,
     .heads = 16,
     .kv_heads = 8,
     .head_dim = 256,
     .ffn = 14336,
     .vocab = 256000,
     .context = 8192,
     .rms_eps = 1e-6,
     .rope_theta = 10000,
     .window = 4096,
     .attention_soft_cap = 50,
     .logit_soft_cap = 30,
     .tied_embeddings = true,
     .scales_embedding = true},
    {.name = "gemma-3-12b",
     .model_type = "gemma3_text",
     .layers = 48,
     .hidden = 3840,
     .heads = 16,
     .kv_heads = 8,
     .head_dim = 256,
     .ffn = 15360,
     .vocab = 262208,
     .context = 131072,
     .rms_eps = 1e-6,
     .rope_theta = 1e6,
     .window = 1024,
     .window_period = 6,
     .window_rope_theta = 10000,
     .tied_embeddings = true,
     .scales_embedding = true},
    {"mixtral-8x7b", "mixtral", 32, 4096, 32, 8, 128, 14336, 32000, 32768, 1e-5, 1e6, 8, 2, 14336},
    {"qwen-3-30b-a3b", "qwen3_moe", 48, 2048, 32, 4, 128, 6144, 151936, 40960, 1e-6, 1e6, 128, 8, 768},
    {"glm-4.5-air", "glm4_moe", 46, 4096, 96, 8, 128, 10944, 151552, 131072, 1e-5, 1e6, 128, 8, 1408, 1408, 1,
     64},
    {"deepseek-v2-lite",
     "deepseek_v2",
     27,
     2048,
     16,
     1,
     576,
     10944,
     102400,
     163840,
     1e-6,
     1e4,
     64,
     6,
     1408,
     2816,
     1,
     64,
     512,
     128,
     128},
    {"tiny-mla", "deepseek_v2", 3,   256, 4,  1,   160, 768, 512, 2048, 1e-6, 1e4, 8,
     2,          256,           512, 1,   32, 128, 64,  64},
    {"gpt-oss-20b", "gpt_oss", 24, 2880, 64, 8, 64, 2880, 201088, 131072, 1e-5, 150000, 32, 4,
     2880,          0,         0,  0,    0,  0, 0,  128,  4096},
    {"gpt-oss-120b", "gpt_oss", 36, 2880, 64, 8, 64, 2880, 201088, 131072, 1e-5, 150000, 128, 4,
     2880,           0,         0,  0,    0,  0, 0,  128,  4096},
    {"tiny-moe", "qwen2_moe", 4, 256, 4, 2, 64, 768, 512, 2048, 1e-6, 10000, 8, 2, 256, 512},
    {"tiny-gpt-oss",
     "gpt_oss",
     4,
     256,
     8,
     2,
     32,
     256,
     512,
     2048,
     1e-5,
     10000,
     8,
     2,
     256,
     0,
     0,
     0,
     0,
     0,
     0,
     64,
     512},
    {"tiny", "llama", 4, 256, 4, 2, 64, 768, 512, 2048, 1e-5, 10000},
}};

void set_experts(const Shape& shape, ModelConfig& config) {
    Experts& experts = config.experts;
    experts.count = shape.experts;
    experts.used = shape.used_experts;
    experts.ffn = shape.expert_ffn;
    experts.shared_ffn = shape.shared_ffn;
    experts.normalized = config.family->normalized_experts;
    experts.shared_gate = config.family->model_type == "qwen2_moe";
    experts.sigmoid = experts.choice_bias = config.family->sigmoid_router;
    set_dense_begin(config, shape.dense_layers);
}

}  // namespace

std::vector<std::string> synthetic_shape_names() {
    std::vector<std::string> names;
    for (const Shape& shape : kShapes) names.emplace_back(shape.name);
    return names;
}

ModelConfig synthetic_shape(std::string_view name) {
    for (const Shape& shape : kShapes) {
        if (shape.name != name) continue;
        ModelConfig config;
        config.family = family_of_folder(shape.model_type);
        config.blocks = config.family->blocks;
        config.model_name = fmt::format("{}{}", kSyntheticName, name);
        config.layers = shape.layers;
        config.hidden = shape.hidden;
        config.heads = shape.heads;
        config.kv_heads = shape.kv_heads;
        config.head_dim = shape.head_dim;
        config.rope_dims = shape.rope_dims > 0 ? shape.rope_dims : shape.head_dim;
        config.ffn = shape.ffn;
        set_experts(shape, config);
        if (shape.kv_rank > 0) {
            config.latent = {shape.kv_rank, 0, shape.plain_dim, shape.value_dim, false};
            config.attention_scale = 1 / std::sqrt(static_cast<double>(shape.plain_dim + shape.rope_dims));
        }
        config.vocab = shape.vocab;
        config.context = shape.context;
        config.rms_eps = shape.rms_eps;
        config.rope_theta = shape.rope_theta;
        config.rope_style = config.family->rope_in_gguf;
        if (shape.window > 0) {
            std::vector<bool> slides = each_layer(config, true);
            const auto period = static_cast<std::size_t>(shape.window_period);
            for (std::size_t i = period - 1; i < slides.size(); i += period) slides[i] = false;
            set_window(config, shape.window, slides);
        }
        if (shape.original_context > 0) {
            config.rope_scaling.kind = RopeScalingKind::Yarn;
            config.rope_scaling.factor = static_cast<double>(shape.context) / shape.original_context;
            config.rope_scaling.original_context = shape.original_context;
            config.rope_scaling.truncated = false;
        }
        config.attention_soft_cap = shape.attention_soft_cap;
        config.logit_soft_cap = shape.logit_soft_cap;
        config.window_rope_theta = shape.window_rope_theta;
        config.tied_embeddings = shape.tied_embeddings;
        if (shape.scales_embedding) config.embedding_scale = std::sqrt(static_cast<double>(shape.hidden));
        config.bos_id = kSyntheticBos;
        config.add_bos = true;
        config.eos_ids = {kSyntheticEos};
        return config;
    }
    const auto names = synthetic_shape_names();
    throw JobError(fmt::format("there is no synthetic shape {}{} (there are: {})", name,
                               did_you_mean(nearest_word(std::string(name), names)), fmt::join(names, ", ")));
}

}  // namespace voltpile::llm
