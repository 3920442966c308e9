#include "llm/model/hf_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "llm/model/byte_cursor.h"
#include "llm/model/json_file.h"
#include "llm/model/json_keys.h"
#include "llm/model/mapped_file.h"
#include "llm/model/model_family.h"

namespace voltpile::llm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMaxConfigBytes = 64
                                        << 20;  // large enough for the added tokens in tokenizer_config.json

void read_family(const JsonKeys& keys, ModelConfig& config) {
    const std::string type = keys.text("model_type").value_or("");
    config.family = family_of_folder(type);
    if (!config.family)
        keys.fail(fmt::format("models of type \"{}\" are not supported (supported: {})", printable(type),
                              supported_families()));
    config.blocks = config.family->blocks;
    config.experts.normalized = config.family->normalized_experts;
    config.experts.sigmoid = config.family->sigmoid_router;
    config.quantization = read_quantization(keys);
    const bool silu = config.blocks.activation != Activation::GeluTanh;
    const std::string expected = silu ? "silu" : "gelu_pytorch_tanh";
    const std::string activation =
        keys.text("hidden_activation").value_or(keys.text("hidden_act").value_or(expected));
    if (activation != expected && !(silu && activation == "swish"))
        keys.fail(fmt::format("the activation {} is not supported (supported: {})", printable(activation),
                              expected));
    if (keys.boolean("mlp_bias").value_or(false)) keys.fail("\"mlp_bias\": true is not supported");
}

std::string model_type_of(const json& object) {
    const auto type = object.find("model_type");
    return type != object.end() && type->is_string() ? type->get<std::string>() : "";
}

// Returns the keys of config.json and the family's defaults of those that it lacks. Of a model with images,
// the keys of "text_config" come first.
json with_defaults(const json& object) {
    json keys = object;
    const ModelFamily* outer = family_of_folder(model_type_of(object));
    const auto text = object.find("text_config");
    if (outer && outer->model_type != model_type_of(object) && text != object.end() && text->is_object())
        keys.update(*text);
    const ModelFamily* family = family_of_folder(model_type_of(keys));
    if (!family) return keys;
    json all = json::parse(family->folder_defaults);
    all.update(keys);
    return all;
}

void read_sizes(const JsonKeys& keys, ModelConfig& config) {
    config.layers = keys.required_integer("num_hidden_layers");
    config.hidden = keys.required_integer("hidden_size");
    config.heads = keys.required_integer("num_attention_heads");
    config.kv_heads = keys.integer("num_key_value_heads").value_or(config.heads);
    config.ffn = keys.required_integer("intermediate_size");
    config.vocab = keys.required_integer("vocab_size");
    config.context = keys.integer("max_position_embeddings").value_or(2048);
    config.rms_eps = keys.real("rms_norm_eps").value_or(1e-6);
    config.tied_embeddings = keys.boolean("tie_word_embeddings").value_or(false);
    const std::int64_t quotient = config.heads > 0 ? config.hidden / config.heads : 0;
    config.head_dim = keys.integer("head_dim").value_or(quotient);
    config.rope_dims = config.head_dim;
}

// model: the keys of the whole model, keys: those of its RoPE.
void read_longrope(const JsonKeys& model, const JsonKeys& keys, ModelConfig& config) {
    RopeScaling& scaling = config.rope_scaling;
    scaling.kind = RopeScalingKind::LongRope;
    for (const auto& [key, factors] :
         {std::pair{"short_factor", &scaling.short_factors}, {"long_factor", &scaling.long_factors}}) {
        if (!keys.find(key)) keys.fail(fmt::format("RoPE scaling \"longrope\" lacks \"{}\"", key));
        *factors = keys.reals(key);
    }
    constexpr std::string_view kOriginal = "original_max_position_embeddings";
    scaling.original_context =
        keys.integer(kOriginal).value_or(model.integer(kOriginal).value_or(config.context));
    const double ratio = static_cast<double>(config.context) /
                         static_cast<double>(std::max<std::int64_t>(scaling.original_context, 1));
    scaling.factor = keys.real("factor").value_or(ratio);
    scaling.attention_factor = keys.real("attention_factor").value_or(0);
}

// Returns the quotient of both factors of cos and sin that DeepSeek's models have; 0 without such keys.
double yarn_attention_factor(const JsonKeys& keys, double factor) {
    const double mscale = keys.real("mscale").value_or(0), of_all = keys.real("mscale_all_dim").value_or(0);
    if (mscale == 0 || of_all == 0) return 0;
    const auto scaled = [&](double by) { return factor > 1 ? 0.1 * by * std::log(factor) + 1 : 1; };
    return scaled(mscale) / scaled(of_all);
}

void read_rope_scaling(const JsonKeys& model, const JsonKeys& keys, ModelConfig& config) {
    RopeScaling& scaling = config.rope_scaling;
    const std::string kind = keys.text("rope_type").value_or(keys.text("type").value_or("default"));
    if (kind == "default") return;
    if (kind == "linear") {
        scaling.kind = RopeScalingKind::Linear;
    } else if (kind == "llama3") {
        scaling.kind = RopeScalingKind::Llama3;
    } else if (kind == "yarn") {
        scaling.kind = RopeScalingKind::Yarn;
    } else if (kind == "longrope") {
        return read_longrope(model, keys, config);
    } else {
        keys.fail(
            fmt::format("RoPE scaling \"{}\" is not supported (supported: linear, llama3, yarn, longrope)",
                        printable(kind)));
    }
    for (const char* key : {"mscale", "mscale_all_dim"})
        if (scaling.kind != RopeScalingKind::Yarn && keys.find(key))
            keys.fail(fmt::format("RoPE scaling \"{}\" with \"{}\" is not supported", kind, key));
    scaling.truncated = keys.boolean("truncate").value_or(true);
    if (scaling.kind == RopeScalingKind::Llama3)  // there are no defaults, as in transformers
        for (const char* key : {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"})
            if (!keys.find(key)) keys.fail(fmt::format("RoPE scaling \"llama3\" lacks \"{}\"", key));
    if (!keys.find("factor")) keys.fail(fmt::format("RoPE scaling \"{}\" lacks \"factor\"", kind));
    scaling.factor = keys.real("factor").value_or(0);
    scaling.original_context = keys.integer("original_max_position_embeddings").value_or(config.context);
    scaling.low_frequency_factor = keys.real("low_freq_factor").value_or(scaling.low_frequency_factor);
    scaling.high_frequency_factor = keys.real("high_freq_factor").value_or(scaling.high_frequency_factor);
    if (scaling.kind == RopeScalingKind::Yarn)  // transformers ignores it with the others
        scaling.attention_factor =
            keys.real("attention_factor").value_or(yarn_attention_factor(keys, scaling.factor));
    scaling.beta_fast = keys.real("beta_fast").value_or(scaling.beta_fast);
    scaling.beta_slow = keys.real("beta_slow").value_or(scaling.beta_slow);
}

void read_rope(const JsonKeys& keys, ModelConfig& config) {
    config.rope_style = config.family->rope_in_folder;
    double rotated = keys.real("partial_rotary_factor").value_or(1);
    if (const auto parameters = keys.object("rope_parameters"))
        rotated = parameters->real("partial_rotary_factor").value_or(rotated);
    if (rotated != 1 && !config.family->partial_rotary)
        keys.fail("\"partial_rotary_factor\" is not supported");
    config.rope_dims = static_cast<std::int64_t>(static_cast<double>(config.head_dim) * rotated);
    config.rope_theta = keys.real("rope_theta").value_or(10000);
    // transformers 5 stores both in one object.
    if (auto parameters = keys.object("rope_parameters")) {
        if (const auto of_full_layers = parameters->object("full_attention"))
            parameters.emplace(*of_full_layers);
        config.rope_theta = parameters->real("rope_theta").value_or(config.rope_theta);
        read_rope_scaling(keys, *parameters, config);
    } else if (const auto scaling = keys.object("rope_scaling")) {
        read_rope_scaling(keys, *scaling, config);
    }
}

std::string text_of(const std::string& path) {
    const MappedFile file(path);
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// Returns a single template, or the one named "default" in a list.
std::string chat_template(const JsonKeys& keys) {
    const json* value = keys.find("chat_template");
    if (!value || !value->is_array()) return keys.text("chat_template").value_or("");
    for (const json& entry : *value)
        if (entry.is_object() && entry.value("name", json()) == "default" && entry.contains("template") &&
            entry["template"].is_string())
            return entry["template"].get<std::string>();
    return {};
}

void read_tokenizer(const fs::path& folder, ModelConfig& config) {
    config.add_bos = config.family->begins_with_bos;
    if (const fs::path path = folder / "tokenizer_config.json"; fs::exists(path)) {
        const json object = read_json_object(path, kMaxConfigBytes);
        const JsonKeys keys(object, path.native());
        config.chat_template = chat_template(keys);
        config.add_bos = keys.boolean("add_bos_token").value_or(config.add_bos);
    }
    config.add_bos = config.add_bos && config.bos_id >= 0;
    if (const fs::path path = folder / "chat_template.jinja"; fs::exists(path))
        config.chat_template = text_of(path);
    if (const fs::path path = folder / "tokenizer.json"; fs::exists(path)) {
        config.tokenizer = {TokenizerKind::TokenizerJson, path, "tokenizer.json"};
    } else if (const fs::path model = folder / "tokenizer.model"; fs::exists(model)) {
        config.tokenizer = {TokenizerKind::SentencePiece, model, "tokenizer.model (SentencePiece)"};
    }
}

}  // namespace

ModelConfig config_from_json(const json& object, std::string_view path) {
    const json all = with_defaults(object);
    const JsonKeys keys(all, path);
    ModelConfig config;
    config.model_name = keys.text("_name_or_path").value_or("");
    read_family(keys, config);
    read_sizes(keys, config);
    read_rope(keys, config);
    if (config.family->read_folder) config.family->read_folder(keys, config);
    if (keys.boolean("attention_bias").value_or(false) && !config.blocks.qkv_bias)
        keys.fail("\"attention_bias\": true is not supported");
    config.bos_id = keys.integer("bos_token_id").value_or(-1);
    config.eos_ids = keys.integers("eos_token_id");
    return config;
}

ModelConfig config_from_folder(const std::string& folder) {
    const std::string path = fs::path(folder) / "config.json";
    ModelConfig config = config_from_json(read_json_object(path, kMaxConfigBytes), path);
    if (config.model_name.empty()) config.model_name = fs::weakly_canonical(folder).filename();
    if (const fs::path generation = fs::path(folder) / "generation_config.json"; fs::exists(generation)) {
        const json object = read_json_object(generation, kMaxConfigBytes);
        for (const std::int64_t id : JsonKeys(object, generation.native()).integers("eos_token_id"))
            if (std::ranges::find(config.eos_ids, id) == config.eos_ids.end()) config.eos_ids.push_back(id);
    }
    read_tokenizer(folder, config);
    check_config(config, path);
    return config;
}

}  // namespace voltpile::llm
