#include "llm/prompt_job/keys.h"

#include <fmt/format.h>

#include <cctype>
#include <stdexcept>

#include "job/job_spec.h"
#include "llm/engine/request_fields.h"
#include "llm/prompt_job/form_keys.h"
#include "llm/session/job_keys.h"

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
// Left out of the fingerprint if it is empty, as jobs from before it are.
KeySpec key_of(const llm::RequestField&, const std::string& path, const std::string& otherwise) {
    return {
        .path = path, .type = ValueType::Text, .default_value = Texts{otherwise}, .identity_default = false};
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

void check(const JobSpec& job, const ReportProblem& report) {
    llm::check_model_keys(job, report);
    if (job.texts("prompts.files").empty())
        report("prompts.files", "prompts.files is empty: name at least one file");
    for (const std::string& stop : job.texts("generate.stop"))
        if (stop.empty()) report("generate.stop", "generate.stop contains an empty string");
    llm::check_form_keys(job, report);
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
    for (auto rows : {llm::model_keys(), prompt_keys(), request_keys(), llm::form_keys(), llm::engine_keys()})
        schema.keys.insert(schema.keys.end(), rows.begin(), rows.end());
    schema.example = example;
    schema.check = check;
    schema.sweeps = false;
    // 2: 8-bit activations on CPUs; RoPE factors and pre-tokenizers as in llama.cpp.
    schema.numerics_version = 2;
    return schema;
}

}  // namespace voltpile
