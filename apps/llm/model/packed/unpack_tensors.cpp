#include "llm/model/packed/unpack_tensors.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "llm/model/packed/packed_format.h"
#include "llm/model/packed/packed_parts.h"

namespace voltpile::llm {
namespace {

// Scales that only computing with rounded activations, keys or values needs.
constexpr std::array<std::string_view, 8> kIgnored = {
    ".input_scale", ".input_zero_point", ".input_global_scale", ".output_scale", ".k_scale",
    ".v_scale",     ".q_scale",          ".output_zero_point"};

void erase(TensorFiles& files, const std::string& name) {
    files.tensors.erase(name);
    files.file_of.erase(name);
}

// Some writers of GPTQ files give every layer a bias, of zeros where the model has none.
void erase_zero_bias(TensorFiles& files, const ModelConfig& config, const std::string& layer) {
    const auto bias = files.tensors.find(layer + ".bias");
    if (bias == files.tensors.end()) return;
    const std::span<const std::byte> content(bias->second.data, bias->second.bytes);
    const bool of_qkv =
        layer.ends_with(".q_proj") || layer.ends_with(".k_proj") || layer.ends_with(".v_proj");
    if (!(of_qkv && config.blocks.qkv_bias) &&
        std::ranges::all_of(content, [](std::byte b) { return b == std::byte{0}; }))
        erase(files, layer + ".bias");
}

void unpack(TensorFiles& files, const ModelConfig& config, const PackedFormat& format,
            const std::string& layer) {
    const PackedParts parts(files, layer, format.parts.front());
    std::unique_ptr<PackedMatrix> matrix = format.open(parts, config.quantization);
    const int file = files.file_of.at(layer + "." + std::string(format.parts.front()));
    StoredTensor stored{};
    stored.format = matrix->format();
    stored.dimensions = 2;
    stored.rows = matrix->rows();
    stored.columns = matrix->columns();
    stored.bytes = stored.rows * row_bytes(stored.format, stored.columns);
    stored.packed = matrix.get();
    files.packed.push_back(std::move(matrix));
    for (const std::string_view part : format.parts) erase(files, layer + "." + std::string(part));
    if (format.packing == Packing::Gptq) erase_zero_bias(files, config, layer);
    files.tensors.insert_or_assign(layer + ".weight", stored);
    files.file_of.insert_or_assign(layer + ".weight", file);
}

}  // namespace

void unpack_tensors(TensorFiles& files, const ModelConfig& config) {
    const auto found =
        std::ranges::find(packed_formats(), config.quantization.packing, &PackedFormat::packing);
    if (found == packed_formats().end() || (*found)->parts.empty()) return;
    const PackedFormat& format = **found;
    std::vector<std::string> layers, ignored;
    const std::string suffix = "." + std::string(format.parts.front());
    for (const auto& [name, tensor] : files.tensors) {
        if (name.ends_with(suffix) && tensor.element == format.element)
            layers.push_back(name.substr(0, name.size() - suffix.size()));
        if (std::ranges::any_of(kIgnored, [&](std::string_view end) { return name.ends_with(end); }))
            ignored.push_back(name);
    }
    for (const std::string& name : ignored) erase(files, name);
    for (const std::string& layer : layers) unpack(files, config, format, layer);
}

}  // namespace voltpile::llm
