#include "llm/prompt_job/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "job/job_spec.h"
#include "job/nearest.h"
#include "llm/engine/request_fields.h"
#include "llm/model/quant_mixture.h"
#include "llm/model/synthetic_shapes.h"

namespace voltpile {
namespace {

constexpr const char* example = R"(app = "llm"

[model]
path = "Meta-Llama-3-8B-Instruct-Q8_0.gguf"   # or a Hugging Face folder

[prompts]
files = ["questions.jsonl"]              # lines such as {"prompt": "..."} or {"messages": [...]}

[sampling]
temperature = 0.7
top_p = 0.95
seed = 1

[generate]
max_tokens = 256
stop = ["\n\n"]

[engine]
context = 4096
sequences = 64                           # sequences generated at once
)";

KeySpec text_key(std::string path, const char* otherwise, const char* help) {
    return {
        .path = std::move(path), .type = ValueType::Text, .default_value = Texts{otherwise}, .help = help};
}

KeySpec integer_key(std::string path, std::int64_t otherwise, ValueRange range, const char* help) {
    return {.path = std::move(path),
            .type = ValueType::Integer,
            .unit = "1",
            .default_value = Integers{otherwise},
            .range = range,
            .help = help};
}

KeySpec with_choices(KeySpec spec, Texts choices) {
    spec.choices = std::move(choices);
    return spec;
}

// Marks keys that are not part of the fingerprint: they affect speed only, or their content is hashed
// instead.
KeySpec no_identity(KeySpec spec) {
    spec.identity = false;
    return spec;
}

KeySpec list_key(std::string path, const char* help) {
    return {.path = std::move(path), .type = ValueType::Text, .shape = {any_length}, .help = help};
}

std::vector<KeySpec> model_keys() {
    Texts mixtures;
    for (const auto& entry : llm::kQuantMixtures) mixtures.emplace_back(entry.name);
    return {
        no_identity(text_key("model.path", "",
                             "A .gguf file or a Hugging Face folder with safetensors. Every rank opens it "
                             "through its own file system. The same model at another path is the same job.")),
        no_identity({.path = "model.synthetic",
                     .type = ValueType::Text,
                     .default_value = Texts{""},
                     .help = fmt::format(
                         "Instead of model.path: random weights with the shape of this model ({}), to plan "
                         "or measure without a file. Uses a byte tokenizer and the ChatML template.",
                         fmt::join(llm::synthetic_shape_names(), ", "))}),
        no_identity(
            with_choices(text_key("model.format", "q8_0", "Quantization of synthetic weights."), mixtures)),
    };
}

std::vector<KeySpec> prompt_keys() {
    auto files = no_identity(
        list_key("prompts.files",
                 "Files with the prompts, in this order; rank 0 alone reads them. Regular files up to 16 "
                 "GiB, pipes up to 1 GiB, lines up to 64 MiB. A job is identified by the content of its "
                 "prompts, not by their paths; it cannot be resumed with changed prompts."));
    return {
        files,
        no_identity(with_choices(
            text_key("prompts.format", "auto",
                     "jsonl: one JSON object per line (docs/models.md lists its fields). text: one prompt "
                     "per line. auto: jsonl for names ending in .jsonl or .ndjson, else text."),
            {"auto", "jsonl", "text"})),
        with_choices(
            text_key("prompts.on_error", "stop",
                     "What to do with invalid lines. stop: list them and compute nothing. skip: compute the "
                     "other prompts, print how many lines were skipped, and store the reason in their rows."),
            {"stop", "skip"}),
    };
}

// As a sentence.
std::string sentence(std::string_view clause) {
    std::string text = fmt::format("{}.", clause);
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text;
}

// The key of a field by its type; a default of 0 new tokens means kUsualNewTokens.
KeySpec key_of(const llm::RequestField& field, const std::string& path, const float& otherwise) {
    return {.path = path,
            .unit = "1",
            .default_value = Reals{static_cast<double>(otherwise)},
            .range = {.min = field.least, .max = field.most}};
}
KeySpec key_of(const llm::RequestField& field, const std::string& path, const int& otherwise) {
    return {.path = path,
            .type = ValueType::Integer,
            .unit = "1",
            .default_value = Integers{path == "generate.max_tokens" ? llm::kUsualNewTokens : otherwise},
            .range = {.min = field.least, .max = field.most}};
}
KeySpec key_of(const llm::RequestField&, const std::string& path, const std::uint64_t&) {
    return {.path = path,
            .type = ValueType::Integer,
            .unit = "1",
            .default_value = Integers{0},
            .range = {.min = 0}};
}
KeySpec key_of(const llm::RequestField&, const std::string& path, const bool& otherwise) {
    return {.path = path, .type = ValueType::Boolean, .default_value = Booleans{otherwise}};
}
KeySpec key_of(const llm::RequestField&, const std::string& path, const std::vector<std::string>&) {
    return {.path = path, .type = ValueType::Text, .shape = {any_length}, .default_value = Texts{}};
}
KeySpec key_of(const llm::RequestField& field, const std::string&, const std::map<std::int32_t, float>&) {
    throw std::logic_error(fmt::format("{} has a key, but no key is a map", field.name));
}

std::vector<KeySpec> request_keys() {
    std::vector<KeySpec> keys;
    llm::RequestSettings defaults;
    for (const llm::RequestField& field : llm::kRequestFields) {
        if (field.key.empty()) continue;
        const std::string path(field.key);
        keys.push_back(std::visit(
            [&](auto member) { return key_of(field, path, llm::value_of(defaults, member)); }, field.member));
        keys.back().help = sentence(field.help);
        if (path == "sampling.seed")
            keys.back().help +=
                " Prompt n (from 0) uses seed + n unless its line has a seed, so the order of computation "
                "does not matter.";
    }
    return keys;
}

std::vector<KeySpec> engine_keys() {
    return {
        integer_key("engine.context", 0, {.min = 0, .max = 1 << 24},
                    "Maximum number of tokens in a sequence, prompt included; 0: the model's context."),
        no_identity(integer_key("engine.sequences", 64, {.min = 1, .max = 4096},
                                "Sequences that each replica of the model generates at once.")),
        no_identity(
            integer_key("engine.rows", 512, {.min = 1, .max = 65536},
                        "Maximum number of tokens in a pass through the model; at least engine.sequences.")),
        with_choices(text_key("engine.cache", "fp16", "Type of the KV cache. int8 holds twice the tokens."),
                     {"fp16", "int8"}),
        no_identity(integer_key("engine.cache_tokens", 0, {.min = 0},
                                "Tokens that the KV cache holds for all sequences together; 0: the context "
                                "of each sequence, or what fits into memory.")),
        no_identity(integer_key("engine.tensor", 0, {.min = 0, .max = 1024},
                                "Ranks that share each layer (tensor parallelism); 0: as many as there are "
                                "and the model can be split over.")),
        no_identity(integer_key(
            "engine.pipeline", 0, {.min = 0, .max = 1024},
            "Stages that divide the layers (pipeline parallelism); 0: as few as hold the model.")),
        no_identity(integer_key("engine.replicas", 0, {.min = 0, .max = 65536},
                                "Copies of the model, which share the prompts; 0: as many as fit.")),
        no_identity(
            {.path = "engine.batch_invariant",
             .type = ValueType::Boolean,
             .default_value = Booleans{false},
             .help = "On GPUs: compute each sequence to the same bits whatever else is in the batch, as CPUs "
                     "always do. Prompts then take a tenth longer, a single sequence a quarter."}),
        {.path = "engine.clamp",
         .type = ValueType::Boolean,
         .default_value = Booleans{false},
         .help = "Clamp activations that overflow fp16 to 65504, its largest number, instead of infinity: "
                 "for models trained in bf16 whose logits become non-finite."},
    };
}

void check(const JobSpec& job, const ReportProblem& report) {
    const bool path = !job.text("model.path").empty();
    const bool synthetic = !job.text("model.synthetic").empty();
    const std::vector<std::string> shapes = llm::synthetic_shape_names();
    const std::string& shape = job.text("model.synthetic");
    if (synthetic && std::ranges::find(shapes, shape) == shapes.end())
        report("model.synthetic",
               fmt::format("model.synthetic = \"{}\": must be one of {}{}", shape, fmt::join(shapes, ", "),
                           did_you_mean(nearest_word(shape, shapes))));
    if (!path && !synthetic) report("model", "model.path is missing (or model.synthetic for random weights)");
    if (job.texts("prompts.files").empty())
        report("prompts.files", "prompts.files is empty: name at least one file");
    for (const std::string& stop : job.texts("generate.stop"))
        if (stop.empty()) report("generate.stop", "generate.stop contains an empty string");
    const std::int64_t context = job.integer("engine.context");
    if (context > 0 && job.integer("generate.max_tokens") >= context)
        report("generate.max_tokens",
               fmt::format("generate.max_tokens = {} leaves no room for a prompt in engine.context = {}",
                           job.integer("generate.max_tokens"), context));
}

}  // namespace

AppSchema llm_schema() {
    AppSchema schema;
    schema.name = "llm";
    schema.summary =
        "Generates a continuation or an answer for every prompt of one or more files with a language model: "
        "many prompts at once, one row of the result each.";
    for (auto rows : {model_keys(), prompt_keys(), request_keys(), engine_keys()})
        schema.keys.insert(schema.keys.end(), rows.begin(), rows.end());
    schema.example = example;
    schema.check = check;
    schema.sweeps = false;
    return schema;
}

}  // namespace voltpile
