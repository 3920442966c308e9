#include "llm/serve/generation_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <variant>

#include "base/error.h"
#include "llm/engine/request_fields.h"
#include "llm/grammar/response_format.h"
#include "llm/serve/api_error.h"

namespace voltpile::llm {
namespace {

constexpr std::size_t most_stops = 64;
constexpr double most_bias = 100;

// {"1234": -100, ...}
std::map<std::int32_t, float> bias_of(FieldReader& fields, const ServedModel& model) {
    std::map<std::int32_t, float> all;
    const nlohmann::ordered_json* object = fields.find("logit_bias");
    if (!object) return all;
    if (!object->is_object()) fields.fail("logit_bias", "must be an object of token ids and numbers");
    for (const auto& [name, bias] : object->items()) {
        std::int32_t token = -1;
        const auto read = std::from_chars(name.data(), name.data() + name.size(), token);
        if (read.ec != std::errc() || read.ptr != name.data() + name.size() || token < 0 ||
            token >= model.vocabulary)
            fields.fail("logit_bias", fmt::format("has \"{}\", but tokens of this model are 0 to {}", name,
                                                  model.vocabulary - 1));
        if (!bias.is_number() || !(bias.get<double>() >= -most_bias && bias.get<double>() <= most_bias))
            fields.fail("logit_bias", fmt::format("must have numbers from {} to {}", -most_bias, most_bias));
        all[token] = bias.get<float>();
    }
    return all;
}

std::vector<std::int32_t> stop_tokens_of(FieldReader& fields, const ServedModel& model) {
    std::vector<std::int32_t> all;
    const nlohmann::ordered_json* list = fields.find("stop_token_ids");
    if (!list) return all;
    if (!list->is_array()) fields.fail("stop_token_ids", "must be a list of tokens");
    for (const nlohmann::ordered_json& each : *list) {
        const std::optional<std::int32_t> token = token_number(each, model.vocabulary);
        if (!token)
            fields.fail("stop_token_ids",
                        fmt::format("must have whole numbers from 0 to {}", model.vocabulary - 1));
        all.push_back(*token);
    }
    return all;
}

void read_stream_options(FieldReader& fields, GenerationFields& read) {
    const nlohmann::ordered_json* options = fields.find("stream_options");
    if (!options) return;
    if (!options->is_object()) fields.fail("stream_options", "must be an object");
    FieldReader inner(*options, "stream_options.");
    read.include_usage = inner.boolean("include_usage").value_or(false);
    inner.ignore({"include_obfuscation"});
    inner.only("continuous_usage_stats", false);
    inner.finish();
}

// Which texts may be answered. The engine compiles the grammar, and finds what is wrong in it.
void read_form(FieldReader& fields, GenerationFields& read) {
    for (const std::string_view name : kFormFields)
        if (fields.find(name) && read.form_field.empty()) read.form_field = name;
    if (read.form_field.empty()) return;
    try {
        read.settings.grammar = grammar_in_request(fields.object());
    } catch (const JobError& error) {
        throw form_error(read.form_field, error);
    }
}

}  // namespace

SamplingSettings read_sampling_fields(FieldReader& fields) {
    SamplingSettings sampling;
    sampling.temperature = 1;  // the default of these APIs
    for (const RequestField& field : kRequestFields)
        if (const auto* real = std::get_if<float SamplingSettings::*>(&field.member))
            if (const auto value = fields.number(field.name, field.least, field.most))
                sampling.** real = static_cast<float>(*value);
    const auto most_k = static_cast<std::int64_t>(find_request_field("top_k")->most);
    if (const auto k = fields.integer("top_k", -1, most_k))  // other servers call "all" -1, not 0
        sampling.top_k = static_cast<int>(std::max<std::int64_t>(*k, 0));
    return sampling;
}

ApiError form_error(const std::string& field, const JobError& error) {
    return ApiError(400, fmt::format("\"{}\" is not possible: {}", field, error.what()), field);
}

ApiError unknown_model(const std::string& name, const ServedModel& model) {
    std::string known = fmt::format("\"{}\"", model.name);
    for (const std::string& adapter : model.adapters) known += fmt::format(", \"{}\"", adapter);
    return ApiError(404, fmt::format("there is no model \"{}\" here; this server has {}", name, known),
                    "model", "model_not_found");
}

std::string read_model(FieldReader& fields, const ServedModel& model) {
    const auto is_adapter = [&](const std::string& name) {
        return std::ranges::find(model.adapters, name) != model.adapters.end();
    };
    std::string adapter;
    if (const auto name = fields.text("model"); name && *name != model.name) {
        if (!is_adapter(*name)) throw unknown_model(*name, model);
        adapter = *name;
    }
    const auto lora = fields.text("lora");
    if (!lora || lora->empty()) return adapter;
    if (!is_adapter(*lora)) throw unknown_model(*lora, model);
    if (!adapter.empty() && adapter != *lora)
        fields.fail("lora", fmt::format("is \"{}\", but \"model\" is the adapter \"{}\"", *lora, adapter));
    return *lora;
}

GenerationFields read_generation_fields(FieldReader& fields, const ServedModel& model, std::uint64_t seed) {
    GenerationFields read;
    read.settings.lora = read_model(fields, model);
    read.settings.sampling = read_sampling_fields(fields);
    read.settings.sampling.logit_bias = bias_of(fields, model);
    constexpr auto any = std::numeric_limits<std::int64_t>::max();
    const auto wanted_seed = fields.integer("seed", -any - 1, any);
    read.settings.sampling.seed = wanted_seed ? static_cast<std::uint64_t>(*wanted_seed) : seed;
    read_form(fields, read);
    read.settings.stop = fields.texts("stop", most_stops);
    read.settings.ignore_end = fields.boolean("ignore_eos").value_or(false);
    read.stop_tokens = stop_tokens_of(fields, model);
    read.n = static_cast<int>(fields.integer("n", 1, kMostAnswers).value_or(1));
    read.stream = fields.boolean("stream").value_or(false);
    read_stream_options(fields, read);
    if (const auto most = fields.integer("prompt_logprobs", 0, kMostTop)) {
        if (read.stream) fields.fail("prompt_logprobs", "is not supported together with \"stream\"");
        read.prompt_logprobs = static_cast<int>(*most);
        read.score_prompt = true;
    }

    fields.ignore({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
                   "prompt_cache_retention", "prediction", "spaces_between_special_tokens"});
    fields.only("best_of", read.n);
    fields.only("min_tokens", 0);
    fields.only("use_beam_search", false);
    fields.only("skip_special_tokens", true);
    fields.only("include_stop_str_in_output", false);
    fields.only("truncate_prompt_tokens", nullptr);
    for (const char* guided :
         {"guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs"})
        fields.only(guided, nullptr);
    return read;
}

RequestSettings settings_of_answer(const RequestSettings& settings, int number) {
    RequestSettings one = settings;
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio: spreads the seeds
    one.sampling.seed += static_cast<std::uint64_t>(number) * odd;
    return one;
}

}  // namespace voltpile::llm
