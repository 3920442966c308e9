#include "llm/model/gguf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "llm/model/byte_cursor.h"

namespace voltpile::llm {
namespace {

constexpr std::int64_t kLargestInteger = std::numeric_limits<std::int64_t>::max();

// Tokens that always end an answer, because the metadata of files converted from base models name only one of
// them.
constexpr std::array<std::string_view, 5> kEndTexts = {"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>",
                                                       "<|im_end|>", "<|endoftext|>"};

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

double yarn_attention_factor(double factor) {
    return factor > 1 ? 0.1 * std::log(factor) + 1 : 1;
}

class GgufConfigReader {
  public:
    GgufConfigReader(const GgufFile& file, const StoredTensors& tensors) : file_(file), tensors_(tensors) {}

    ModelConfig read() {
        read_family();
        read_sizes();
        read_rope();
        config_.qkv_bias = config_.family == ModelFamily::Qwen2 || tensors_.contains("blk.0.attn_q.bias");
        config_.qk_norm = config_.family == ModelFamily::Qwen3;
        config_.tied_embeddings = !tensors_.contains("output.weight");
        config_.rope_factors = tensors_.contains("rope_freqs.weight");
        if (const auto window = find_integer("attention.sliding_window"); window && *window > 0) {
            config_.sliding_window = *window;
            config_.layer_slides.assign(
                static_cast<std::size_t>(std::clamp<std::int64_t>(config_.layers, 0, 4096)), true);
        }
        read_tokens();
        check_config(config_, file_.path());
        return config_;
    }

  private:
    [[noreturn]] void fail(const std::string& message) const {
        throw FileError(fmt::format("{}: {}", file_.path(), message), ExitCode::BadInput);
    }

    std::optional<std::int64_t> find_absolute(std::string_view key) const {
        const auto value = file_.find<std::uint64_t>(key);
        if (!value) return std::nullopt;
        if (*value > static_cast<std::uint64_t>(kLargestInteger))
            fail(fmt::format("{} is {}, out of range", key, *value));
        return static_cast<std::int64_t>(*value);
    }

    std::string full(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }

    std::optional<std::int64_t> find_integer(std::string_view key) const { return find_absolute(full(key)); }

    std::int64_t integer(std::string_view key) const {
        const auto value = find_integer(key);
        if (!value) fail(fmt::format("the metadata has no {}", full(key)));
        return *value;
    }

    std::optional<double> find_real(std::string_view key) const { return file_.find<double>(full(key)); }

    void read_family() {
        const auto architecture = file_.find<std::string_view>("general.architecture");
        if (!architecture) fail("the metadata has no general.architecture");
        architecture_ = *architecture;
        config_.model_name = file_.find<std::string_view>("general.name").value_or("");
        if (architecture_ == "llama") {
            const bool mistral = lower(config_.model_name).find("mistral") != std::string::npos;
            config_.family = mistral ? ModelFamily::Mistral : ModelFamily::Llama;
            config_.rope_style = RopeStyle::Interleaved;
        } else if (architecture_ == "qwen2" || architecture_ == "qwen3") {
            config_.family = architecture_ == "qwen2" ? ModelFamily::Qwen2 : ModelFamily::Qwen3;
            config_.rope_style = RopeStyle::HalfSplit;
        } else {
            fail(fmt::format("models of architecture {} are not supported (supported: {})",
                             printable(architecture_), supported_families()));
        }
        if (const auto experts = find_integer("expert_count"); experts && *experts > 0)
            fail(fmt::format("mixtures of experts ({} here) are not supported", *experts));
    }

    void read_sizes() {
        config_.layers = integer("block_count");
        config_.hidden = integer("embedding_length");
        config_.heads = integer("attention.head_count");
        config_.kv_heads = find_integer("attention.head_count_kv").value_or(config_.heads);
        config_.ffn = integer("feed_forward_length");
        config_.context = integer("context_length");
        const auto eps = find_real("attention.layer_norm_rms_epsilon");
        if (!eps) fail(fmt::format("the metadata has no {}", full("attention.layer_norm_rms_epsilon")));
        config_.rms_eps = *eps;
        const auto key_length = find_integer("attention.key_length");
        if (!key_length && config_.heads > 0 && config_.hidden % config_.heads != 0)
            fail(fmt::format("{} heads do not divide the hidden size {}", config_.heads, config_.hidden));
        config_.head_dim = key_length ? *key_length : config_.heads > 0 ? config_.hidden / config_.heads : 0;
        if (const auto value_length = find_integer("attention.value_length");
            value_length && *value_length != config_.head_dim)
            fail(fmt::format("heads of V have length {}, those of K {}: not supported", *value_length,
                             config_.head_dim));
        const auto embedding = tensors_.find("token_embd.weight");
        if (embedding != tensors_.end()) {
            config_.vocab = static_cast<std::int64_t>(embedding->second.rows);
        } else {
            config_.vocab = find_integer("vocab_size").value_or(0);
        }
    }

    void read_rope() {
        config_.rope_theta = find_real("rope.freq_base").value_or(10000);
        if (const auto rotated = find_integer("rope.dimension_count");
            rotated && *rotated != config_.head_dim)
            fail(fmt::format("RoPE over {} of {} elements of a head is not supported", *rotated,
                             config_.head_dim));
        RopeScaling& scaling = config_.rope_scaling;
        auto factor = find_real("rope.scaling.factor");
        if (!factor) factor = find_real("rope.scale_linear");  // the key of old files
        const auto kind = file_.find<std::string_view>(full("rope.scaling.type"));
        // A factor without a type means linear scaling, and 0 means none, as in llama.cpp.
        const bool has_factor = factor.value_or(1) != 1 && factor != 0.0;
        if (kind == "linear" || (!kind && has_factor)) {
            scaling.kind = RopeScalingKind::Linear;
        } else if (kind == "yarn") {
            scaling.kind = RopeScalingKind::Yarn;
        } else if (kind && *kind != "none") {
            fail(fmt::format(
                "RoPE scaling {} is not supported (supported: none, linear, yarn, and llama3's factors)",
                printable(*kind)));
        }
        if (scaling.kind != RopeScalingKind::None) scaling.factor = factor.value_or(0);
        if (scaling.kind == RopeScalingKind::Yarn) read_yarn();
        if (const auto attention = find_real("rope.scaling.attn_factor")) {
            if (!(*attention > 0))
                fail(fmt::format("{} is {:g}", full("rope.scaling.attn_factor"), *attention));
            const bool yarn = scaling.kind == RopeScalingKind::Yarn;
            const double own = !yarn                          ? 1
                               : scaling.attention_factor > 0 ? scaling.attention_factor
                                                              : yarn_attention_factor(scaling.factor);
            if (*attention != 1) scaling.attention_factor = *attention * own;
        }
    }

    void read_yarn() {
        RopeScaling& scaling = config_.rope_scaling;
        scaling.original_context =
            find_integer("rope.scaling.original_context_length").value_or(config_.context);
        // llama.cpp stores the factor relative to YaRN's own factor of cos and sin.
        if (const auto attention = find_real("rope.scaling.yarn_attn_factor");
            attention && scaling.factor > 0)
            scaling.attention_factor = *attention * yarn_attention_factor(scaling.factor);
        scaling.beta_fast = find_real("rope.scaling.yarn_beta_fast").value_or(scaling.beta_fast);
        scaling.beta_slow = find_real("rope.scaling.yarn_beta_slow").value_or(scaling.beta_slow);
    }

    void read_tokens() {
        config_.chat_template = file_.find<std::string_view>("tokenizer.chat_template").value_or("");
        const auto kind = file_.find<std::string_view>("tokenizer.ggml.model");
        if (!kind) return;
        const auto pre = file_.find<std::string_view>("tokenizer.ggml.pre");
        config_.tokenizer = {
            TokenizerKind::Gguf, file_.path(),
            pre ? fmt::format("{} ({})", printable(*kind), printable(*pre)) : printable(*kind)};
        config_.bos_id = find_absolute("tokenizer.ggml.bos_token_id").value_or(-1);
        // Without the key, SentencePiece models and these pre-tokenizers begin prompts with this token.
        constexpr std::array<std::string_view, 6> kWithBos = {"llama-bpe", "llama3",  "llama-v3",
                                                              "falcon3",   "pixtral", "tekken"};
        const bool by_default =
            *kind == "llama" || std::ranges::find(kWithBos, pre.value_or("")) != kWithBos.end();
        config_.add_bos =
            file_.find<bool>("tokenizer.ggml.add_bos_token").value_or(by_default) && config_.bos_id >= 0;
        for (const char* key : {"eos", "eot", "eom"})
            if (const auto id = find_absolute(fmt::format("tokenizer.ggml.{}_token_id", key))) add_end(*id);
        const auto texts = file_.find<std::span<const std::string_view>>("tokenizer.ggml.tokens");
        if (!texts) return;
        if (texts->size() > static_cast<std::uint64_t>(config_.vocab))
            fail(fmt::format("the tokenizer has {} tokens, the embedding {} rows", texts->size(),
                             config_.vocab));
        for (std::size_t id = 0; id < texts->size(); ++id)
            if (std::ranges::find(kEndTexts, (*texts)[id]) != kEndTexts.end())
                add_end(static_cast<std::int64_t>(id));
    }

    void add_end(std::int64_t id) {
        if (std::ranges::find(config_.eos_ids, id) == config_.eos_ids.end()) config_.eos_ids.push_back(id);
    }

    const GgufFile& file_;
    const StoredTensors& tensors_;
    std::string_view architecture_;
    ModelConfig config_;
};

}  // namespace

ModelConfig config_from_gguf(const GgufFile& file, const StoredTensors& tensors) {
    return GgufConfigReader(file, tensors).read();
}

}  // namespace voltpile::llm
