#include "llm/model/prediction_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "llm/model/eagle_head.h"
#include "llm/model/tensor_names.h"

namespace voltpile::llm {
namespace {

constexpr std::string_view kEmbedding = "token_embd.weight", kHead = "output.weight",
                           kNorm = "output_norm.weight";
constexpr std::string_view kOwnEmbedding = "nextn.embed_tokens.weight",
                           kOwnHead = "nextn.shared_head_head.weight",
                           kOwnNorm = "nextn.shared_head_norm.weight";

std::string in_layer(std::int64_t layer, std::string_view name) {
    return fmt::format("blk.{}.{}", layer, name);
}

void erase(TensorFiles& files, std::string_view name) {
    if (const auto found = files.tensors.find(name); found != files.tensors.end()) files.tensors.erase(found);
}

// Whether two tensors have the same bytes. Compares samples, because heads have up to a gigabyte.
bool are_copies(const StoredTensor& one, const StoredTensor& other) {
    if (one.format != other.format || one.rows != other.rows || one.columns != other.columns ||
        one.packed != nullptr || other.packed != nullptr || one.bytes != other.bytes)
        return false;
    constexpr std::uint64_t kSamples = 64, kSample = 4096;
    const std::uint64_t size = std::min<std::uint64_t>(kSample, one.bytes);
    for (std::uint64_t i = 0; i < kSamples; ++i) {
        const std::uint64_t at = (one.bytes - size) / (kSamples - 1) * i;
        if (std::memcmp(one.data + at, other.data + at, size) != 0) return false;
    }
    return true;
}

// Removes the layer's own tensor if it is a copy of the model's. Returns whether the layer has its own.
bool has_own(TensorFiles& files, const std::string& own, std::string_view of_model) {
    const auto found = files.tensors.find(own), model = files.tensors.find(of_model);
    const bool copy = found != files.tensors.end() && model != files.tensors.end() &&
                      are_copies(found->second, model->second);
    if (copy) files.tensors.erase(found);
    return files.tensors.contains(own);
}

}  // namespace

void keep_prediction_layer(const ModelConfig& config, TensorFiles& files) {
    ModelConfig first = config;
    first.prediction_layers = std::min<std::int64_t>(1, config.prediction_layers);
    std::erase_if(files.tensors, [&](const auto& entry) {
        const std::string name = canonical_name(entry.first, *config.family);
        return name != kEmbedding && name != kHead && !is_for_prediction(entry.first, first);
    });
}

ModelConfig as_model(const ModelConfig& config, TensorFiles& files) {
    ModelConfig layer = config;
    PredictionLayer& prediction = layer.prediction.emplace();
    prediction.number = config.layers;
    const std::string own_embedding = in_layer(config.layers, kOwnEmbedding),
                      own_head = in_layer(config.layers, kOwnHead);
    // A tied head is the embedding.
    prediction.own_head = has_own(files, own_head, config.tied_embeddings ? kEmbedding : kHead);
    prediction.own_embedding = has_own(files, own_embedding, kEmbedding);
    for (const std::string_view of_model : {kEmbedding, kHead}) erase(files, of_model);
    const std::map<std::string, std::string_view> names = {
        {own_embedding, kEmbedding}, {own_head, kHead}, {in_layer(config.layers, kOwnNorm), kNorm}};
    const std::string prefix = in_layer(config.layers, "");
    files.rename([&](std::string_view name) {
        const auto found = names.find(std::string(name));
        if (found != names.end()) return std::string(found->second);
        return name.starts_with(prefix) ? in_layer(0, name.substr(prefix.size())) : std::string(name);
    });
    layer.layers = 1;
    layer.prediction_layers = 0;
    layer.layer_dense.clear();
    layer.layer_rotates.clear();
    layer.layer_slides.clear();
    layer.rope_factors = false;
    layer.tied_embeddings = false;
    return layer;
}

std::string name_in_model(const std::string& tensor, const PredictionLayer& layer) {
    if (layer.eagle) return name_in_eagle_head(tensor);
    if (tensor == kEmbedding) return in_layer(layer.number, kOwnEmbedding);
    if (tensor == kHead) return in_layer(layer.number, kOwnHead);
    if (tensor == kNorm) return in_layer(layer.number, kOwnNorm);
    return tensor.starts_with("blk.0.") ? in_layer(layer.number, tensor.substr(6)) : tensor;
}

}  // namespace voltpile::llm
