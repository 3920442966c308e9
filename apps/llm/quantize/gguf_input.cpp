#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "llm/model/gguf_entries.h"
#include "llm/quantize/quantize_input.h"

namespace voltpile::llm {
namespace {

// Keys that the new file has values of its own for, or that belong to the files of a split model.
bool is_replaced(std::string_view key) {
    constexpr std::array<std::string_view, 3> replaced = {"general.file_type", "general.quantization_version",
                                                          "general.alignment"};
    return std::ranges::find(replaced, key) != replaced.end() || key.starts_with("split.") ||
           key.starts_with("quantize.imatrix.");
}

int layer_of(std::string_view name) {
    constexpr std::string_view prefix = "blk.";
    int layer = -1;
    if (name.starts_with(prefix))
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), layer);
    return layer;
}

class GgufInput final : public QuantizeInput {
  public:
    explicit GgufInput(const ModelFiles& model)
        : files_(open_gguf(model.paths().front())), metadata_(*model.gguf()) {
        std::vector<std::pair<std::string_view, const StoredTensor*>> order;
        for (const auto& [name, stored] : files_.tensors) order.emplace_back(name, &stored);
        std::ranges::sort(order, {}, [&](const auto& entry) {
            return std::pair(files_.file_of.find(entry.first)->second, entry.second->offset);
        });
        const auto experts = static_cast<std::size_t>(model.config().experts.count);
        const auto heads = static_cast<std::size_t>(model.config().heads);
        for (const auto& [name, stored] : order) {
            ModelTensor tensor;
            tensor.name = name;
            tensor.layer = layer_of(name);
            tensor.rows = stored->rows;
            tensor.columns = stored->columns;
            tensor.format = stored->format;
            tensor.router = name.find(".ffn_gate_inp") != std::string_view::npos || name.ends_with(".bias");
            const bool of_heads = name.ends_with(".attn_k_b.weight") || name.ends_with(".attn_v_b.weight");
            if (stored->dimensions > 2) tensor.matrices = of_heads ? heads : experts;
            tensor.data = stored->data;
            tensor.file = files_.file_of.find(name)->second;
            check_original(tensor, Packing::None, metadata_.path());
            tensors_.push_back(std::move(tensor));
        }
    }

    const std::byte* row(std::size_t tensor, std::size_t row) const override {
        const ModelTensor& of = tensors()[tensor];
        return of.data + row * row_bytes(of.format, of.columns);
    }

    void add_metadata(GgufWriter& file) const override {
        for (const GgufEntry& entry : gguf_entries(files_.files.front()->bytes(), metadata_.path()))
            if (!is_replaced(entry.key)) file.add(entry);
    }

  private:
    TensorFiles files_;
    const GgufFile& metadata_;
};

}  // namespace

void check_original(const ModelTensor& tensor, Packing packing, const std::string& path) {
    if (tensor.rows == 1) return;
    // Without quantization, only the order of weights is another one: stacks of experts.
    const bool is_stack = packing == Packing::None || packing == Packing::Mxfp4;
    if (tensor.packed != nullptr && !is_stack)
        throw JobError(
            fmt::format("{}: {} is quantized already, and quantizing it again would lose twice: "
                        "give the model in F16, BF16, F32 or Q8_0",
                        path, tensor.name));
    constexpr std::array originals = {WeightFormat::F32, WeightFormat::F16, WeightFormat::BF16,
                                      WeightFormat::Q8_0, WeightFormat::MXFP4};
    if (std::ranges::find(originals, tensor.format) == originals.end())
        throw JobError(fmt::format(
            "{}: {} is in {} already, and quantizing it again would lose twice: give the model in "
            "F16, BF16, F32 or Q8_0",
            path, tensor.name, name(tensor.format)));
}

std::unique_ptr<QuantizeInput> open_gguf_input(const ModelFiles& model) {
    return std::make_unique<GgufInput>(model);
}

}  // namespace voltpile::llm
