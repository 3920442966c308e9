#include "llm/model/prediction_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "llm/model/eagle_head.h"
#include "llm/model/tensor_names.h"

namespace voltpile::llm {
namespace {

constexpr std::string_view kEmbedding = "token_embd.weight", kHead = "output.weight", kBlocks = "blk.";
constexpr std::string_view kOwnEmbedding = "nextn.embed_tokens.weight",
                           kOwnHead = "nextn.shared_head_head.weight";

std::string in_layer(std::int64_t layer, std::string_view name) {
    return fmt::format("{}{}.{}", kBlocks, layer, name);
}

// Returns the name of the same tensor in the layer that is `by` further; that of a tensor in no layer.
std::string moved(std::string_view name, std::int64_t by) {
    if (!name.starts_with(kBlocks)) return std::string(name);
    std::int64_t layer = 0;
    const char* const end = name.data() + name.size();
    const char* const rest = std::from_chars(name.data() + kBlocks.size(), end, layer).ptr;
    return rest == end || *rest != '.' ? std::string(name) : in_layer(layer + by, {rest + 1, end});
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

void keep_prediction_layers(const ModelConfig& config, TensorFiles& files) {
    std::erase_if(files.tensors, [&](const auto& entry) {
        const std::string name = canonical_name(entry.first, *config.family);
        return name != kEmbedding && name != kHead && !is_for_prediction(entry.first, config);
    });
}

ModelConfig as_model(const ModelConfig& config, TensorFiles& files) {
    ModelConfig layers = config;
    PredictionLayers& prediction = layers.prediction.emplace();
    prediction.number = config.layers;
    for (std::int64_t i = config.layers; i < config.layers + config.prediction_layers; ++i) {
        // A tied head is the embedding.
        prediction.own_head.push_back(
            has_own(files, in_layer(i, kOwnHead), config.tied_embeddings ? kEmbedding : kHead));
        prediction.own_embedding.push_back(has_own(files, in_layer(i, kOwnEmbedding), kEmbedding));
    }
    for (const std::string_view of_model : {kEmbedding, kHead}) erase(files, of_model);
    files.rename([&](std::string_view name) { return moved(name, -config.layers); });
    layers.layers = config.prediction_layers;
    layers.prediction_layers = 0;
    layers.layer_dense.clear();
    layers.layer_rotates.clear();
    layers.layer_slides.clear();
    layers.rope_factors = false;
    layers.tied_embeddings = false;
    return layers;
}

std::string name_in_model(const std::string& tensor, const PredictionLayers& layers) {
    return layers.eagle ? name_in_eagle_head(tensor) : moved(tensor, layers.number);
}

}  // namespace voltpile::llm
