#include "llm/model/eagle_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/hf_config.h"
#include "llm/model/json_file.h"
#include "llm/model/json_keys.h"
#include "llm/model/model_family.h"
#include "llm/model/safetensors_file.h"
#include "llm/model/tensor_names.h"

namespace voltpile::llm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMaxConfigBytes = 64 << 20;  // as for other models
constexpr std::array<std::string_view, 4> kArchitectures = {
    "LlamaForCausalLMEagle3", "Eagle3LlamaForCausalLM", "Eagle3Speculator", "Eagle3DraftModel"};
constexpr std::string_view kLayerIds = "eagle_aux_hidden_state_layer_ids";
constexpr std::string_view kOffsets = "d2t";
// The names of the head's own tensors; the others are those of a Llama layer.
constexpr std::array<TensorName, 3> kNames = {
    {{"midlayer.hidden_norm.weight", "blk.0.attn_norm.weight"},
     {"midlayer.input_layernorm.weight", "blk.0.nextn.enorm.weight"},
     {"fc.weight", "blk.0.nextn.fc.weight"}}};
// Copies of the model's tensors, and the inverse of d2t.
constexpr std::array<std::string_view, 4> kUnused = {"embed_tokens.weight", "verifier_lm_head.weight",
                                                     "verifier_norm.weight", "t2d"};
constexpr std::string_view kLayer = "midlayer.", kSameLayer = "layers.0.", kPrefix = "model.";

std::string config_path(const std::string& folder) {
    return fs::path(folder) / "config.json";
}

std::string architecture_of(const json& object) {
    const auto names = object.find("architectures");
    if (names == object.end() || !names->is_array() || names->empty() || !names->front().is_string())
        return "";
    return names->front().get<std::string>();
}

// Returns the keys of config.json; those of the layer are in an object of their own in files of the
// speculators library.
json keys_of(const std::string& path) {
    json keys = read_json_object(path, kMaxConfigBytes);
    if (const auto layer = keys.find("transformer_layer_config"); layer != keys.end() && layer->is_object()) {
        json of_layer = *layer;
        of_layer.erase("architectures");
        keys.update(of_layer);
    }
    if (!keys.contains("model_type")) keys["model_type"] = "llama";
    return keys;
}

void check_kind(const json& object, const JsonKeys& keys) {
    const std::string architecture = architecture_of(object);
    if (std::ranges::find(kArchitectures, architecture) == kArchitectures.end())
        keys.fail(fmt::format("EAGLE 3 heads of the architecture {} are not supported (supported: {})",
                              printable(architecture), fmt::join(kArchitectures, ", ")));
    if (const std::string type = keys.text("model_type").value_or(""); type != "llama")
        keys.fail(fmt::format("EAGLE 3 heads with layers of type {} are not supported (supported: llama)",
                              printable(type)));
    if (const auto layers = keys.required_integer("num_hidden_layers"); layers != 1)
        keys.fail(fmt::format("EAGLE 3 heads with {} layers are not supported (supported: 1)", layers));
    for (const char* const key : {"norm_before_fc", "norm_output", "fc_norm"})
        if (keys.find(key) != nullptr && keys.boolean(key).value_or(false))
            keys.fail(fmt::format("\"{}\": true is not supported", key));
    const auto options = keys.object("eagle_config");
    if (!options) return;
    for (const auto& [key, usual] : {std::pair{"use_aux_hidden_state", true},
                                     {"use_input_layernorm_in_first_layer", true},
                                     {"use_last_layernorm", true},
                                     {"use_mtp_layernorm", false}})
        if (options->boolean(key).value_or(usual) != usual)
            keys.fail(fmt::format("\"{}\": {} in \"eagle_config\" is not supported", key, !usual));
}

// Returns the layers of the model whose inputs the head reads.
std::vector<int> layers_of(const JsonKeys& keys, const ModelConfig& model) {
    const auto options = keys.object("eagle_config");
    std::vector<std::int64_t> layers = keys.integers(kLayerIds);
    if (layers.empty() && options) {
        layers = options->integers(kLayerIds);
        for (std::int64_t& layer : layers) ++layer;
    }
    if (layers.empty()) layers = {2, model.layers / 2, model.layers - 3};
    for (std::size_t i = 0; i < layers.size(); ++i)
        if (layers[i] < 0 || layers[i] >= model.layers || (i > 0 && layers[i] <= layers[i - 1]))
            keys.fail(fmt::format(
                "the EAGLE 3 head reads the inputs of the layers {}, which must ascend and be among "
                "the {} layers of the model",
                fmt::join(layers, ", "), model.layers));
    return {layers.begin(), layers.end()};
}

void check_fits(const JsonKeys& keys, const ModelConfig& head, const ModelConfig& model) {
    const std::int64_t of_model = keys.integer("target_hidden_size").value_or(head.hidden);
    if (head.hidden != model.hidden || of_model != model.hidden)
        keys.fail(
            fmt::format("the EAGLE 3 head has the hidden size {} for models of {}, and the model has {}",
                        head.hidden, of_model, model.hidden));
    if (head.vocab != model.vocab)
        keys.fail(fmt::format("the EAGLE 3 head is for a vocabulary of {} tokens, and the model has {}",
                              head.vocab, model.vocab));
    if (model.residual_scale != 1)
        keys.fail(fmt::format("EAGLE 3 heads cannot guess for {} models, whose residual stream is scaled",
                              model.family->name));
}

std::int64_t offset_at(const StoredTensor& table, std::int64_t index) {
    const auto read = [&]<class T>(T value) {
        std::memcpy(&value, table.data + static_cast<std::size_t>(index) * sizeof value, sizeof value);
        return std::int64_t{value};
    };
    return table.element == StoredType::I32 ? read(std::int32_t{}) : read(std::int64_t{});
}

// Takes d2t out of the tensors. Returns the token of the model for each of the head's; empty if all are the
// same.
std::vector<std::int32_t> take_tokens(TensorFiles& files, std::int64_t count, std::int64_t vocab) {
    const auto fail = [&](const std::string& message) {
        throw FileError(fmt::format("{}: {}", files.folder, message), ExitCode::BadInput);
    };
    const auto found = files.tensors.find(kOffsets);
    if (found == files.tensors.end()) {
        if (count != vocab)
            fail(fmt::format(
                "d2t is missing, which says which of the {} tokens of the model the {} of the head "
                "are",
                vocab, count));
        return {};
    }
    const StoredTensor& table = found->second;
    const bool integers = table.element == StoredType::I64 || table.element == StoredType::I32;
    const auto size = static_cast<std::int64_t>(table.rows * table.columns);
    if (!integers) fail("d2t has numbers that are not integers of 32 or 64 bits");
    if (size != count) fail(fmt::format("d2t has {} integers, and draft_vocab_size is {}", size, count));
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t offset = offset_at(table, i);
        if (offset < -i || offset >= vocab - i)
            fail(fmt::format("d2t[{}] is {}, which leaves the {} tokens of the model", i, offset, vocab));
        tokens.push_back(static_cast<std::int32_t>(i + offset));
    }
    files.tensors.erase(found);
    return tokens;
}

std::string canonical(std::string_view in_file, const ModelFamily& family) {
    std::string name(in_file);
    if (name.starts_with(kSameLayer)) name = fmt::format("{}{}", kLayer, name.substr(kSameLayer.size()));
    for (const TensorName& own : kNames)
        if (own.folder == name) return std::string(own.canonical);
    if (name.starts_with(kLayer)) name = fmt::format("model.layers.0.{}", name.substr(kLayer.size()));
    if (name == "norm.weight") name = "model.norm.weight";
    return canonical_name(name, family);
}

}  // namespace

bool is_eagle_head(const std::string& path) {
    const std::string config = config_path(path);
    if (!fs::exists(config)) return false;
    const json object = read_json_object(config, kMaxConfigBytes);
    const auto kind = object.find("speculators_model_type");
    return architecture_of(object).find("Eagle3") != std::string::npos ||
           (kind != object.end() && *kind == "eagle3");
}

ModelConfig read_eagle_head(TensorFiles& files, const ModelConfig& model) {
    const std::string path = config_path(files.folder);
    const json object = keys_of(path);
    const JsonKeys keys(object, path);
    check_kind(object, keys);
    ModelConfig head = config_from_json(object, path);
    check_fits(keys, head, model);
    head.vocab = keys.integer("draft_vocab_size").value_or(head.vocab);
    head.context = model.context;
    head.bos_id = -1;
    head.eos_ids.clear();
    head.tied_embeddings = false;
    check_config(head, path);

    const auto without_prefix = [](std::string_view name) {
        return std::string(name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name);
    };
    files.rename(without_prefix);
    std::erase_if(files.tensors,
                  [](const auto& entry) { return std::ranges::find(kUnused, entry.first) != kUnused.end(); });
    PredictionLayers& prediction = head.prediction.emplace();
    EagleHead& eagle = prediction.eagle.emplace();
    eagle.layers = layers_of(keys, model);
    eagle.norm_before_residual = keys.boolean("norm_before_residual").value_or(false);
    eagle.tokens = take_tokens(files, head.vocab, model.vocab);
    check_only_weights(files.tensors, files.folder);
    files.rename([&](std::string_view name) { return canonical(name, *head.family); });
    // Without a head of its own it uses that of the model, with the same tokens.
    prediction.own_head = {files.tensors.contains("output.weight") || !eagle.tokens.empty()};
    prediction.own_embedding = {false};
    return head;
}

std::string name_in_eagle_head(const std::string& tensor) {
    for (const TensorName& own : kNames)
        if (own.canonical == tensor) return std::string(own.folder);
    return tensor;
}

}  // namespace voltpile::llm
