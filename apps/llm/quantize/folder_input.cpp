#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "llm/decoder/rope_frequencies.h"
#include "llm/model/expert_tensors.h"
#include "llm/model/gguf_model_keys.h"
#include "llm/model/model_family.h"
#include "llm/quantize/quantize_input.h"
#include "llm/quantize/tokenizer_metadata.h"
#include "llm/tokenizer/model_tokenizer.h"

namespace voltpile::llm {
namespace {

constexpr std::array<std::string_view, 5> kArchitectures = {"llama", "qwen2", "qwen3", "qwen2moe",
                                                            "qwen3moe"};

void check_family(const ModelFiles& model) {
    const ModelConfig& config = model.config();
    const auto convertible = [](const ModelFamily& family) {
        return std::ranges::find(kArchitectures, family.architecture) != kArchitectures.end();
    };
    std::string names;
    for (const ModelFamily* family : all_families())
        if (convertible(*family)) names += fmt::format("{}{}", names.empty() ? "" : ", ", family->name);
    const std::string where = model.paths().front();
    if (!convertible(*config.family))
        throw JobError(fmt::format(
            "{}: folders of {} models cannot be converted yet (supported: {}); GGUF files of them can", where,
            config.family->name, names));
    if (!config.layer_dense.empty())
        throw JobError(fmt::format("{}: layers without experts have no keys in GGUF files of {} models",
                                   where, config.family->name));
    const RopeScalingKind kind = config.rope_scaling.kind;
    if (kind == RopeScalingKind::LongRope || std::ranges::count(config.layer_slides, false) > 0)
        throw JobError(fmt::format("{}: this model's {} has no keys in GGUF files of {} models", where,
                                   kind == RopeScalingKind::LongRope ? "RoPE scaling" : "sliding window",
                                   config.family->name));
}

// The numbers that divide the frequencies of Llama 3.1 and later.
std::vector<float> rope_factors(const ModelConfig& config) {
    if (config.rope_scaling.kind != RopeScalingKind::Llama3) return {};
    ModelConfig plain = config;
    plain.rope_scaling = {};
    std::vector<float> factors = rope_frequencies(plain, {}, config.context).frequencies;
    const RopeFrequencies scaled = rope_frequencies(config, {}, config.context);
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] /= scaled.frequencies[i];
    return factors;
}

class FolderInput final : public QuantizeInput {
  public:
    explicit FolderInput(const ModelFiles& model)
        : config_(model.config()), rope_factors_(rope_factors(config_)) {
        if (config_.tokenizer.kind != TokenizerKind::None) {
            vocabulary_ = load_tokenizer(model).vocabulary();
        } else {
            spdlog::warn("{}: the model has no tokenizer, so the file cannot turn text into tokens",
                         model.paths().front());
        }
        tensors_ = stacked_tensors(model);
        for (const ModelTensor& tensor : model.tensors()) {
            if (tensor.expert <= 0) data_.emplace_back();
            data_.back().push_back(tensor.data);
        }
        for (const ModelTensor& tensor : tensors_) check_original(tensor, model.paths().front());
        if (rope_factors_.empty()) return;
        ModelTensor factors;
        factors.name = "rope_freqs.weight";
        factors.layer = -1;
        factors.rows = 1;
        factors.columns = rope_factors_.size();
        tensors_.push_back(factors);
        data_.push_back({reinterpret_cast<const std::byte*>(rope_factors_.data())});
    }

    const std::byte* row(std::size_t tensor, std::size_t row) const override {
        const ModelTensor& of = tensors()[tensor];
        const std::size_t rows = of.rows / of.matrices;
        const std::size_t stride = row_bytes(of.format, of.columns);
        return data_[tensor][row / rows] + row_in_folder(of, row % rows) * stride;
    }

    void add_metadata(GgufWriter& file) const override {
        add_model_keys(config_, file);
        file.add("general.type", "model");
        file.add("general.name", config_.model_name);
        if (vocabulary_) add_tokenizer_metadata(*vocabulary_, config_, file);
    }

  private:
    // Rows 2i and 2i + 1 of a head of Q and K rotate together in the file, rows i and i + head_dim / 2 in the
    // folder.
    std::size_t row_in_folder(const ModelTensor& tensor, std::size_t row) const {
        if (config_.family->rope_in_gguf == config_.rope_style) return row;
        if (!tensor.name.ends_with(".attn_q.weight") && !tensor.name.ends_with(".attn_k.weight")) return row;
        const auto head = static_cast<std::size_t>(config_.head_dim);
        const std::size_t in_head = row % head;
        return row - in_head + in_head % 2 * (head / 2) + in_head / 2;
    }

    const ModelConfig& config_;
    std::optional<Vocabulary> vocabulary_;
    std::vector<float> rope_factors_;
    std::vector<std::vector<const std::byte*>> data_;  // of each tensor's matrices
};

}  // namespace

std::unique_ptr<QuantizeInput> open_folder_input(const ModelFiles& model) {
    check_family(model);
    return std::make_unique<FolderInput>(model);
}

}  // namespace voltpile::llm
