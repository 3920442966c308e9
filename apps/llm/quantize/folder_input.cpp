#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "llm/decoder/rope_frequencies.h"
#include "llm/model/expert_tensors.h"
#include "llm/model/fused_tensors.h"
#include "llm/model/gguf_model_keys.h"
#include "llm/model/model_family.h"
#include "llm/model/tensor_names.h"
#include "llm/ops/dequantize.h"
#include "llm/quantize/lost_in_gguf.h"
#include "llm/quantize/quantize_input.h"
#include "llm/quantize/tokenizer_metadata.h"
#include "llm/tokenizer/model_tokenizer.h"

namespace voltpile::llm {
namespace {

void check_family(const ModelFiles& model) {
    const ModelConfig& config = model.config();
    const std::string where = model.paths().front();
    if (const std::vector<std::string> lost = lost_in_gguf(model); !lost.empty())
        throw JobError(fmt::format("{}: GGUF files of {} models have no keys for this model's {}", where,
                                   config.family->name, fmt::join(lost, ", ")));
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
    explicit FolderInput(const ModelFiles& model) : config_(model.config()) {
        if (config_.tokenizer.kind != TokenizerKind::None) {
            vocabulary_ = load_tokenizer(model).vocabulary();
        } else {
            spdlog::warn("{}: the model has no tokenizer, so the file cannot turn text into tokens",
                         model.paths().front());
        }
        for (const ModelTensor& tensor : model.tensors()) {
            check_original(tensor, config_.quantization.packing, model.paths().front());
            add(tensor);
        }
        for (std::size_t t = 0; t < tensors_.size(); ++t) {
            tensors_[t].rows = 0;
            for (const ModelTensor* part : parts_[t].of) tensors_[t].rows += part->rows;
        }
        add_numbers("rope_freqs.weight", rope_factors(config_));
        const RopeScaling& scaling = config_.rope_scaling;
        add_numbers("rope_factors_long.weight", {scaling.long_factors.begin(), scaling.long_factors.end()});
        add_numbers("rope_factors_short.weight",
                    {scaling.short_factors.begin(), scaling.short_factors.end()});
    }

    const std::byte* row(std::size_t tensor, std::size_t row) const override {
        const Parts& parts = parts_[tensor];
        if (!parts.numbers.empty()) return reinterpret_cast<const std::byte*>(parts.numbers.data());
        const ModelTensor* part = parts.of.front();
        if (parts.equal) {
            part = parts.of[row / part->rows];
            row %= part->rows;
        } else {
            for (auto next = parts.of.begin(); row >= part->rows; part = *++next) row -= part->rows;
        }
        return part->data + row_in_folder(*part, row) * row_bytes(part->format, part->columns);
    }

    void add_metadata(GgufWriter& file) const override {
        add_model_keys(config_, file);
        file.add("general.type", "model");
        file.add("general.name", gguf_model_name(config_));
        if (vocabulary_) add_tokenizer_metadata(*vocabulary_, config_, file);
    }

  private:
    // What a tensor of the file consists of: tensors of the model, one below the other, or numbers.
    struct Parts {
        std::vector<const ModelTensor*> of;
        bool equal;  // all have as many rows
        std::vector<float> numbers;
    };

    void add(const ModelTensor& tensor) {
        if (tensor.expert > 0) {
            parts_.back().of.push_back(&tensor);
            return;
        }
        const std::string fused = fused_name(tensor);
        if (!fused.empty() && tensors_.back().name == fused) {
            parts_.back().of.push_back(&tensor);
            return;
        }
        const std::string name = tensor.expert == 0 ? stacked_name(tensor)
                                 : fused.empty()    ? gguf_name(tensor.name, *config_.family)
                                                    : fused;
        tensors_.push_back(tensor);
        tensors_.back().name = name;
        parts_.push_back({{&tensor}, fused.empty(), {}});
        if (tensor.expert == 0) tensors_.back().matrices = static_cast<std::size_t>(config_.experts.count);
        if (config_.norm_offset != 0 && tensor.rows == 1 && name.ends_with("norm.weight"))
            set_numbers(tensor);
    }

    // Returns the name of the tensor that this one is a part of; empty: none.
    std::string fused_name(const ModelTensor& tensor) const {
        for (const std::string_view fused : config_.family->fused_in_gguf) {
            std::string name = fmt::format("blk.{}.{}", tensor.layer, fused);
            const std::vector<std::string> parts = parts_of_fused(name);
            if (std::ranges::find(parts, tensor.name) != parts.end()) return name;
        }
        return {};
    }

    // Norms of files have the offset in their weights.
    void set_numbers(const ModelTensor& tensor) {
        std::vector<float>& numbers = parts_.back().numbers;
        numbers.resize(tensor.columns);
        dequantize_row(tensor.format, tensor.data, static_cast<std::int64_t>(tensor.columns), numbers.data());
        for (float& number : numbers) number += static_cast<float>(config_.norm_offset);
        tensors_.back().format = WeightFormat::F32;
        tensors_.back().file = -1;
    }

    void add_numbers(const char* name, std::vector<float> numbers) {
        if (numbers.empty()) return;
        ModelTensor tensor;
        tensor.name = name;
        tensor.layer = -1;
        tensor.rows = 1;
        tensor.columns = numbers.size();
        tensors_.push_back(tensor);
        parts_.push_back({{}, true, std::move(numbers)});
    }

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
    std::vector<Parts> parts_;  // of each tensor
};

}  // namespace

std::unique_ptr<QuantizeInput> open_folder_input(const ModelFiles& model) {
    check_family(model);
    return std::make_unique<FolderInput>(model);
}

}  // namespace voltpile::llm
