#include "llm/model/gguf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "llm/model/byte_cursor.h"
#include "llm/model/gguf_keys.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

// Tokens that always end an answer, because the metadata of files converted from base models name only one of
// them.
constexpr std::array<std::string_view, 5> kEndTexts = {"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>",
                                                       "<|im_end|>", "<|endoftext|>"};

double yarn_attention_factor(double factor) {
    return factor > 1 ? 0.1 * std::log(factor) + 1 : 1;
}

class GgufConfigReader {
  public:
    GgufConfigReader(const GgufFile& file, const StoredTensors& tensors)
        : file_(file), tensors_(tensors), keys_(file, architecture_of(file)) {}

    ModelConfig read() {
        read_family();
        read_sizes();
        read_experts();
        read_rope();
        if (tensors_.contains("blk.0.attn_q.bias")) config_.blocks.qkv_bias = true;
        if (config_.family->optional_qk_norm && tensors_.contains("blk.0.attn_q_norm.weight"))
            config_.blocks.qk_norm = QkNorm::Heads;
        config_.tied_embeddings = !tensors_.contains("output.weight");
        config_.rope_factors = tensors_.contains("rope_freqs.weight");
        if (const auto window = keys_.find_integer("attention.sliding_window"); window && *window > 0)
            set_window(config_, *window, each_layer(config_, true));
        config_.latent.split = tensors_.contains("blk.0.attn_k_b.weight");
        if (config_.family->read_gguf) config_.family->read_gguf(keys_, config_);
        read_tokens();
        check_config(config_, file_.path());
        return config_;
    }

  private:
    static std::string_view architecture_of(const GgufFile& file) {
        const auto architecture = file.find<std::string_view>("general.architecture");
        if (!architecture) GgufKeys(file, "").fail("the metadata has no general.architecture");
        return *architecture;
    }

    void read_family() {
        const std::string_view architecture = architecture_of(file_);
        config_.model_name = file_.find<std::string_view>("general.name").value_or("");
        const std::int64_t experts = keys_.find_integer("expert_count").value_or(0);
        config_.family = family_of_gguf(architecture, config_.model_name, experts > 0);
        if (!config_.family && experts > 0)
            keys_.fail(
                fmt::format("models of architecture {} with {} experts are not supported (supported: {})",
                            printable(architecture), experts, supported_families()));
        if (!config_.family && family_of_gguf(architecture, config_.model_name, true))
            keys_.fail(fmt::format("models of architecture {} have experts, but expert_count is {}",
                                   printable(architecture),
                                   keys_.find_integer("expert_count") ? "0" : "missing"));
        if (!config_.family)
            keys_.fail(fmt::format("models of architecture {} are not supported (supported: {})",
                                   printable(architecture), supported_families()));
        config_.blocks = config_.family->blocks;
        config_.rope_style = config_.family->rope_in_gguf;
    }

    void read_sizes() {
        config_.prediction_layers = keys_.find_integer("nextn_predict_layers").value_or(0);
        if (config_.prediction_layers != 0 && !config_.family->predicts)
            keys_.fail(fmt::format("{} is {}, but {} has no layers that predict further tokens",
                                   keys_.full("nextn_predict_layers"), config_.prediction_layers,
                                   config_.family->name));
        config_.layers = keys_.integer("block_count") - config_.prediction_layers;
        config_.hidden = keys_.integer("embedding_length");
        config_.heads = keys_.integer("attention.head_count");
        config_.kv_heads = keys_.find_integer("attention.head_count_kv").value_or(config_.heads);
        config_.ffn = keys_.integer("feed_forward_length");
        config_.context = keys_.integer("context_length");
        config_.rms_eps = keys_.real("attention.layer_norm_rms_epsilon");
        if (!config_.family->latent_attention) read_heads();
        const auto embedding = tensors_.find("token_embd.weight");
        if (embedding != tensors_.end()) {
            config_.vocab = static_cast<std::int64_t>(embedding->second.rows);
        } else {
            config_.vocab = keys_.find_integer("vocab_size").value_or(0);
        }
    }

    void read_heads() {
        const auto key_length = keys_.find_integer("attention.key_length");
        if (!key_length && config_.heads > 0 && config_.hidden % config_.heads != 0)
            keys_.fail(
                fmt::format("{} heads do not divide the hidden size {}", config_.heads, config_.hidden));
        config_.head_dim = key_length ? *key_length : config_.heads > 0 ? config_.hidden / config_.heads : 0;
        if (const auto value_length = keys_.find_integer("attention.value_length");
            value_length && *value_length != config_.head_dim)
            keys_.fail(fmt::format("heads of V have length {}, those of K {}: not supported", *value_length,
                                   config_.head_dim));
    }

    void read_experts() {
        if (!config_.family->mixture) return;
        Experts& experts = config_.experts;
        experts.count = keys_.integer("expert_count");
        experts.used = keys_.integer("expert_used_count");
        experts.ffn = keys_.find_integer("expert_feed_forward_length").value_or(config_.ffn);
        experts.normalized =
            keys_.find_flag("expert_weights_norm").value_or(config_.family->normalized_experts);
        experts.sigmoid = config_.family->sigmoid_router;
        // 0: not set.
        if (const std::int64_t gating = keys_.find_integer("expert_gating_func").value_or(0); gating != 0) {
            constexpr std::int64_t softmax = 1, sigmoid = 2;
            if (gating != softmax && gating != sigmoid)
                keys_.fail(
                    fmt::format("{} is {}, which is not supported (supported: 1, softmax, and 2, sigmoid)",
                                keys_.full("expert_gating_func"), gating));
            experts.sigmoid = gating == sigmoid;
        }
        const double scale = keys_.find_real("expert_weights_scale").value_or(0);
        experts.scale = scale == 0 ? 1 : scale;
        experts.groups = std::max<std::int64_t>(keys_.find_integer("expert_group_count").value_or(1), 1);
        experts.used_groups = keys_.find_integer("expert_group_used_count").value_or(experts.groups);
        const std::int64_t shared = keys_.find_integer("expert_shared_count").value_or(0);
        if (shared > kMostExperts || experts.ffn > std::numeric_limits<std::int32_t>::max())
            keys_.fail(fmt::format("{} shared experts of size {} are out of range", shared, experts.ffn));
        experts.shared_ffn = shared * experts.ffn;
        const std::int64_t dense = keys_.find_integer("leading_dense_block_count").value_or(0);
        set_dense_begin(config_, dense);
        experts.choice_bias = tensors_.contains(fmt::format("blk.{}.exp_probs_b.bias", dense));
    }

    void read_rope() {
        config_.rope_theta = keys_.find_real("rope.freq_base").value_or(10000);
        config_.rope_dims = keys_.find_integer("rope.dimension_count").value_or(config_.head_dim);
        RopeScaling& scaling = config_.rope_scaling;
        auto factor = keys_.find_real("rope.scaling.factor");
        if (!factor) factor = keys_.find_real("rope.scale_linear");  // the key of old files
        const auto kind = keys_.find_text("rope.scaling.type");
        // A factor without a type means linear scaling, and 0 means none, as in llama.cpp.
        const bool has_factor = factor.value_or(1) != 1 && factor != 0.0;
        if (kind == "longrope" || tensors_.contains("rope_factors_long.weight")) {
            read_longrope();
        } else if (kind == "linear" || (!kind && has_factor)) {
            scaling.kind = RopeScalingKind::Linear;
        } else if (kind == "yarn") {
            scaling.kind = RopeScalingKind::Yarn;
        } else if (kind && *kind != "none") {
            keys_.fail(
                fmt::format("RoPE scaling {} is not supported (supported: none, linear, yarn, longrope, and "
                            "llama3's factors)",
                            printable(*kind)));
        }
        if (scaling.kind == RopeScalingKind::Linear || scaling.kind == RopeScalingKind::Yarn)
            scaling.factor = factor.value_or(0);
        if (scaling.kind == RopeScalingKind::Yarn) read_yarn();
        if (const auto attention = keys_.find_real("rope.scaling.attn_factor")) {
            if (!(*attention > 0))
                keys_.fail(fmt::format("{} is {:g}", keys_.full("rope.scaling.attn_factor"), *attention));
            const bool yarn = scaling.kind == RopeScalingKind::Yarn;
            const double own = !yarn                          ? 1
                               : scaling.attention_factor > 0 ? scaling.attention_factor
                                                              : yarn_attention_factor(scaling.factor);
            if (*attention != 1) scaling.attention_factor = *attention * own;
        }
    }

    void read_longrope() {
        RopeScaling& scaling = config_.rope_scaling;
        scaling.kind = RopeScalingKind::LongRope;
        scaling.original_context =
            keys_.find_integer("rope.scaling.original_context_length").value_or(config_.context);
        scaling.short_factors = numbers("rope_factors_short.weight");
        scaling.long_factors = numbers("rope_factors_long.weight");
        scaling.attention_factor = 1;  // unless the file has another
    }

    std::vector<double> numbers(std::string_view name) const {
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) keys_.fail(fmt::format("{} is missing", name));
        const StoredTensor& stored = found->second;
        if (stored.format != WeightFormat::F32)
            keys_.fail(fmt::format("{} is a vector in {}", name, voltpile::llm::name(stored.format)));
        std::vector<float> values(stored.rows * stored.columns);
        std::memcpy(values.data(), stored.data, values.size() * sizeof(float));
        return {values.begin(), values.end()};
    }

    void read_yarn() {
        RopeScaling& scaling = config_.rope_scaling;
        scaling.original_context =
            keys_.find_integer("rope.scaling.original_context_length").value_or(config_.context);
        // llama.cpp stores the factor relative to YaRN's own factor of cos and sin.
        if (const auto attention = keys_.find_real("rope.scaling.yarn_attn_factor");
            attention && scaling.factor > 0)
            scaling.attention_factor = *attention * yarn_attention_factor(scaling.factor);
        scaling.beta_fast = keys_.find_real("rope.scaling.yarn_beta_fast").value_or(scaling.beta_fast);
        scaling.beta_slow = keys_.find_real("rope.scaling.yarn_beta_slow").value_or(scaling.beta_slow);
    }

    void read_tokens() {
        config_.chat_template = file_.find<std::string_view>("tokenizer.chat_template").value_or("");
        const auto kind = file_.find<std::string_view>("tokenizer.ggml.model");
        if (!kind) return;
        const auto pre = file_.find<std::string_view>("tokenizer.ggml.pre");
        config_.tokenizer = {
            TokenizerKind::Gguf, file_.path(),
            pre ? fmt::format("{} ({})", printable(*kind), printable(*pre)) : printable(*kind)};
        config_.bos_id = keys_.find_absolute("tokenizer.ggml.bos_token_id").value_or(-1);
        // Without the key, SentencePiece models and these pre-tokenizers begin prompts with this token.
        constexpr std::array<std::string_view, 6> kWithBos = {"llama-bpe", "llama3",  "llama-v3",
                                                              "falcon3",   "pixtral", "tekken"};
        const bool by_default =
            *kind == "llama" || std::ranges::find(kWithBos, pre.value_or("")) != kWithBos.end();
        config_.add_bos =
            file_.find<bool>("tokenizer.ggml.add_bos_token").value_or(by_default) && config_.bos_id >= 0;
        for (const char* key : {"eos", "eot", "eom"})
            if (const auto id = keys_.find_absolute(fmt::format("tokenizer.ggml.{}_token_id", key)))
                add_end(*id);
        const auto texts = file_.find<std::span<const std::string_view>>("tokenizer.ggml.tokens");
        if (!texts) return;
        if (texts->size() > static_cast<std::uint64_t>(config_.vocab))
            keys_.fail(fmt::format("the tokenizer has {} tokens, the embedding {} rows", texts->size(),
                                   config_.vocab));
        for (std::size_t id = 0; id < texts->size(); ++id)
            if (std::ranges::find(kEndTexts, (*texts)[id]) != kEndTexts.end() ||
                std::ranges::find(config_.family->end_texts, (*texts)[id]) != config_.family->end_texts.end())
                add_end(static_cast<std::int64_t>(id));
    }

    void add_end(std::int64_t id) {
        if (std::ranges::find(config_.eos_ids, id) == config_.eos_ids.end()) config_.eos_ids.push_back(id);
    }

    const GgufFile& file_;
    const StoredTensors& tensors_;
    GgufKeys keys_;
    ModelConfig config_;
};

}  // namespace

ModelConfig config_from_gguf(const GgufFile& file, const StoredTensors& tensors) {
    return GgufConfigReader(file, tensors).read();
}

}  // namespace voltpile::llm
