// The description of a model: the same for all families and file formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/model/layer_blocks.h"
#include "llm/model/packed/quantization.h"
#include "llm/model/rope_style.h"

namespace voltpile::llm {

struct ModelFamily;

// Linear: divides positions by `factor`. Llama3: changes frequencies by wavelength (transformers,
// modeling_rope_utils, _compute_llama3_parameters). Yarn: arXiv:2309.00071, as transformers computes it.
// LongRope: arXiv:2402.13753; divides each frequency by a number of its own.
enum class RopeScalingKind { None, Linear, Llama3, Yarn, LongRope };

struct RopeScaling {
    RopeScalingKind kind = RopeScalingKind::None;
    double factor = 1;
    std::int64_t original_context = 0;  // tokens; Llama3, Yarn and LongRope
    double low_frequency_factor = 1;    // Llama3
    double high_frequency_factor = 4;   // Llama3
    double attention_factor = 0;        // of cos and sin; 0: by kind (rope_frequencies())
    double beta_fast = 32;              // Yarn
    double beta_slow = 1;               // Yarn
    bool truncated = true;              // Yarn: the bounds of the interpolation are whole numbers of pairs
    // LongRope, (rope_dims / 2): divisors of the frequencies for contexts up to original_context, and for
    // longer ones.
    std::vector<double> short_factors = {};
    std::vector<double> long_factors = {};

    bool operator==(const RopeScaling&) const = default;
};

enum class TokenizerKind { None, Gguf, TokenizerJson, SentencePiece };

struct TokenizerSource {
    TokenizerKind kind = TokenizerKind::None;
    std::string path;         // the .gguf, tokenizer.json or tokenizer.model
    std::string description;  // for people: "gpt2 (llama-bpe)"
};

// The experts of each layer's feed-forward part, and how the router chooses those of a token (Ops::route).
// A shared expert is always used.
struct Experts {
    std::int64_t count = 0;       // 0: none, the feed-forward parts of all layers are dense
    std::int64_t used = 0;        // by each token
    std::int64_t ffn = 0;         // size of an expert
    std::int64_t shared_ffn = 0;  // size of the shared expert, or of all together; 0: none
    bool normalized = false;      // the weights of a token's experts are divided by their sum
    bool shared_gate = false;     // the shared expert is weighed by the sigmoid of a logit of its own
    bool sigmoid = false;         // scores are the sigmoids of logits instead of their softmax
    bool choice_bias = false;     // exp_probs_b.bias: added to the scores for the choice, not for the weights
    std::int64_t groups = 1;      // of adjacent experts, of equal size
    std::int64_t used_groups = 1;  // groups that a token's experts come from
    double scale = 1;              // of the weights of a token's experts
};

// The largest numbers that the operations take.
constexpr std::int64_t kMostExperts = 1024;
constexpr std::int64_t kMostUsedExperts = 32;
constexpr std::int64_t kMostExpertGroups = 32;

// Multi-head latent attention (DeepSeek V2, arXiv:2405.04434). The keys and values of all heads are products
// with one latent vector for each token, and keys have a rotated part that all heads share.
struct LatentAttention {
    std::int64_t kv_rank = 0;    // size of the latent vector; 0: the model has ordinary attention
    std::int64_t q_rank = 0;     // size of the latent vector of queries; 0: none
    std::int64_t plain_dim = 0;  // elements of a query without RoPE; ModelConfig::rope_dims have RoPE
    std::int64_t value_dim = 0;  // of a head
    bool split = false;          // attn_k_b and attn_v_b instead of attn_kv_b
};

// What an EAGLE 3 head has beside a decoder layer, see eagle_head.h.
struct EagleHead {
    // The layers of its model whose inputs it reads, in ascending order.
    std::vector<int> layers;
    bool norm_before_residual = false;  // the layer adds to the normed hidden state
    // The token of the model for each row of logits; empty: the same numbers.
    std::vector<std::int32_t> tokens;
};

// Layers that predict the tokens of a model: those behind its last, see prediction_layer.h, or an EAGLE 3
// head.
struct PredictionLayers {
    std::int64_t number = 0;  // of the first, among the layers of its model; 0 in an EAGLE 3 head
    // Which layers have an embedding or a head of their own; the others use those of the model.
    std::vector<bool> own_embedding, own_head;
    std::optional<EagleHead> eagle = {};
};

struct ModelConfig {
    const ModelFamily* family = nullptr;  // never null in a config that was read
    LayerBlocks blocks;
    std::string model_name;  // from the model's files; may be empty
    std::int64_t layers = 0;
    std::int64_t hidden = 0;    // size of the hidden state of a token
    std::int64_t heads = 0;     // of Q
    std::int64_t kv_heads = 0;  // of K and of V; divides `heads`; 1 with latent attention
    std::int64_t head_dim = 0;  // even; heads * head_dim need not be `hidden`; latent: kv_rank + rope_dims
    LatentAttention latent;
    std::int64_t rope_dims = 0;  // the first elements of a head, which RoPE rotates; even
    std::int64_t ffn = 0;        // size of a dense feed-forward part
    // Rows of the embedding; the tokenizer may have fewer tokens. In an EAGLE 3 head: columns of the logits.
    std::int64_t vocab = 0;
    std::int64_t context = 0;  // tokens
    Experts experts;
    std::vector<bool> layer_dense;  // which layers of a mixture have no experts; empty: none
    // Layers behind the last that predict further tokens (MTP), see prediction_layer.h. `layers` and the
    // tensors of the model leave them out.
    std::int64_t prediction_layers = 0;
    // Set if this describes these layers, or an EAGLE 3 head, as a model of its own.
    std::optional<PredictionLayers> prediction;
    double rms_eps = 0;
    double rope_theta = 10000;
    RopeStyle rope_style = RopeStyle::HalfSplit;
    RopeScaling rope_scaling;
    double window_rope_theta = 0;     // of layers that slide, without scaling; 0: as in the other layers
    std::vector<bool> layer_rotates;  // which layers use RoPE; empty: all
    bool rope_factors = false;        // rope_freqs.weight: rope_dims/2 numbers that divide the frequencies
    std::int64_t sliding_window = 0;  // a token sees itself and the sliding_window - 1 before it; 0: all
    std::vector<bool> layer_slides;   // which layers use the window; empty if none does
    double embedding_scale = 1;
    double residual_scale = 1;      // of what attention and feed-forward part add to the residual stream
    double attention_scale = 0;     // of attention's scores; 0: 1 / sqrt(head_dim)
    double attention_soft_cap = 0;  // c: scores become c tanh(score / c); 0: they do not
    double logit_scale = 1;
    double logit_soft_cap = 0;
    double norm_offset = 0;             // added to the weights of all norms
    bool tied_embeddings = false;       // the head is the embedding: there is no output.weight
    std::int64_t bos_id = -1;           // -1: none
    bool add_bos = false;               // whether prompts begin with it
    std::vector<std::int64_t> eos_ids;  // tokens that end a sequence
    std::string chat_template;          // Jinja text; may be empty
    TokenizerSource tokenizer;
    Quantization quantization;  // of a folder's files
};

std::string_view name(RopeScalingKind kind);

// Returns the factor of cos and sin: attention_factor or, if that is 0, 0.1 ln(factor) + 1 for Yarn, sqrt(1 +
// ln(factor) / ln(original_context)) for LongRope, and 1 for the others.
double rope_magnitude(const RopeScaling& scaling);

// Returns the description of an EAGLE 3 head; nullptr for other models.
const EagleHead* eagle_head_of(const ModelConfig& config);

// Whether a layer uses the window, and whether it uses RoPE.
inline bool slides(const ModelConfig& config, std::int64_t layer) {
    return !config.layer_slides.empty() && config.layer_slides[static_cast<std::size_t>(layer)];
}
inline bool rotates(const ModelConfig& config, std::int64_t layer) {
    return config.layer_rotates.empty() || config.layer_rotates[static_cast<std::size_t>(layer)];
}

// Whether the feed-forward part of a layer is a mixture of experts.
bool has_experts(const ModelConfig& config, std::int64_t layer);
bool has_dense_layers(const ModelConfig& config);
int layers_with_experts(const ModelConfig& config);
// Returns the first layer whose experts stay in host memory if those of the last `on_host` layers with
// experts do; the number of layers if on_host is 0. on_host: at most layers_with_experts().
int first_layer_on_host(const ModelConfig& config, int on_host);

// Throws one FileError "path: ..." that lists everything out of range.
void check_config(const ModelConfig& config, std::string_view path);

}  // namespace voltpile::llm
