#include "llm/model/lora/peft_config.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/error.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/json_file.h"
#include "llm/model/json_keys.h"
#include "llm/model/lora/lora_adapter.h"

namespace voltpile::llm {
namespace {

constexpr std::size_t kMostConfigBytes = 4 << 20;
constexpr std::string_view kOfPatterns = "\\^$*+?()[]{}|";  // characters of regular expressions

// Numbers by the names of modules. PEFT takes the keys as regular expressions; most are plain names. Those
// that it writes itself, for experts of transformers 5, are names behind kAnyModule.
constexpr std::string_view kAnyModule = R"(.*\.)";
template <class Number>
std::map<std::string, Number> numbers_by_module(const JsonKeys& keys, const char* key) {
    std::map<std::string, Number> numbers;
    const nlohmann::json* object = keys.find(key);
    if (object == nullptr) return numbers;
    if (!object->is_object()) keys.fail(fmt::format("\"{}\" must be an object", key));
    for (const auto& [pattern, value] : object->items()) {
        const std::string name = pattern.substr(pattern.starts_with(kAnyModule) ? kAnyModule.size() : 0);
        if (name.find_first_of(kOfPatterns) != std::string::npos)
            keys.fail(
                fmt::format("\"{}\" has {}, a regular expression, which is not supported: write the "
                            "names of the modules",
                            key, printable(pattern)));
        const bool usable = std::is_integral_v<Number> ? value.is_number_integer() : value.is_number();
        if (!usable)
            keys.fail(fmt::format("\"{}\" of {} must be {} number", key, printable(name),
                                  std::is_integral_v<Number> ? "a whole" : "a"));
        numbers[name] = value.template get<Number>();
    }
    return numbers;
}

// Returns the strings of a list. Empty if the key is missing or has a text: modules may be a pattern instead.
std::vector<std::string> texts(const JsonKeys& keys, const char* key) {
    std::vector<std::string> all;
    const nlohmann::json* const list = keys.find(key);
    if (list == nullptr || list->is_string()) return all;
    if (!list->is_array()) keys.fail(fmt::format("\"{}\" must be a text or a list of texts", key));
    for (const nlohmann::json& each : *list) {
        if (!each.is_string()) keys.fail(fmt::format("\"{}\" must be a list of texts", key));
        all.push_back(each.get<std::string>());
    }
    return all;
}

int checked_rank(const JsonKeys& keys, std::int64_t rank, const std::string& what) {
    if (rank < 1 || rank > kMostLoraRank)
        keys.fail(fmt::format("{} = {} is not from 1 to {}", what, rank, kMostLoraRank));
    return static_cast<int>(rank);
}

bool is_set(const nlohmann::json* value) {
    return value != nullptr && !(value->is_boolean() && !value->get<bool>()) &&
           !((value->is_array() || value->is_object()) && value->empty());
}

void check_supported(const JsonKeys& keys) {
    if (const auto kind = keys.text("peft_type"); kind != "LORA")
        keys.fail(
            fmt::format("peft_type is {}; only LORA is supported", printable(kind.value_or("missing"))));
    if (const auto bias = keys.text("bias").value_or("none"); bias != "none")
        keys.fail(fmt::format("bias is \"{}\": trained biases are not supported", printable(bias)));
    for (const char* key : {"use_dora", "lora_bias", "fan_in_fan_out", "modules_to_save",
                            "trainable_token_indices", "layer_replication", "use_qalora", "use_bdlora",
                            "kasa_config", "arrow_config", "alora_invocation_tokens"})
        if (is_set(keys.find(key))) keys.fail(fmt::format("\"{}\" is not supported", key));
    // These begin with other weights than the model's. PEFT writes true here when it converts an adapter.
    const nlohmann::json* const begin = keys.find("init_lora_weights");
    std::string method = begin != nullptr && begin->is_string() ? begin->get<std::string>() : "";
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const char* name : {"pissa", "olora", "corda", "loftq", "lora_ga"})
        if (method.starts_with(name))
            keys.fail(
                fmt::format("\"init_lora_weights\": \"{}\" changes the model's own weights, which is not "
                            "supported; PEFT can convert adapters of pissa, olora and corda "
                            "(path_initial_model_for_weight_conversion)",
                            printable(method)));
}

}  // namespace

bool module_matches(std::string_view module, std::string_view name) {
    return module == name || (module.size() > name.size() && module.ends_with(name) &&
                              module[module.size() - name.size() - 1] == '.');
}

int PeftConfig::rank_of_module(std::string_view module) const {
    for (const auto& [name, other] : rank_of)
        if (module_matches(module, name)) return other;
    return rank;
}

double PeftConfig::scale_of_module(std::string_view module) const {
    double own = alpha;
    for (const auto& [name, other] : alpha_of)
        if (module_matches(module, name)) own = other;
    const double of_module = rank_of_module(module);
    return own / (rank_stabilized ? std::sqrt(of_module) : of_module);
}

PeftConfig read_peft_config(const std::string& folder) {
    const std::string path = std::filesystem::path(folder) / "adapter_config.json";
    if (!std::filesystem::exists(path))
        throw FileError(fmt::format("{}: it has no adapter_config.json, so it is not a LoRA adapter", folder),
                        ExitCode::BadInput);
    const nlohmann::json object = read_json_object(path, kMostConfigBytes);
    const JsonKeys keys(object, path);
    check_supported(keys);
    PeftConfig config;
    config.rank = checked_rank(keys, keys.required_integer("r"), "the rank r");
    const auto alpha = keys.real("lora_alpha");
    if (!alpha) keys.fail("\"lora_alpha\" is missing");
    config.alpha = *alpha;
    config.rank_stabilized = keys.boolean("use_rslora").value_or(false);
    for (const auto& [name, rank] : numbers_by_module<std::int64_t>(keys, "rank_pattern"))
        config.rank_of[name] =
            checked_rank(keys, rank, fmt::format("\"rank_pattern\" of {}", printable(name)));
    config.alpha_of = numbers_by_module<double>(keys, "alpha_pattern");
    config.modules = texts(keys, "target_modules");
    config.parameters = texts(keys, "target_parameters");
    return config;
}

}  // namespace voltpile::llm
