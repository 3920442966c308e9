#include "llm/session/job_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <variant>

#include "base/error.h"
#include "base/format.h"
#include "job/nearest.h"
#include "llm/model/kv_element_names.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model/quant_mixture.h"
#include "llm/model/synthetic_shapes.h"
#include "llm/replica/replica_fields.h"

namespace voltpile::llm {
namespace {

std::string sentence_of(std::string_view clause) {
    std::string text = fmt::format("{}.", clause);
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text;
}

KeySpec replica_key(std::string_view name) {
    const ReplicaField& field = replica_field(name);
    KeySpec key{
        .path = fmt::format("engine.{}", name), .identity = field.identity, .help = sentence_of(field.help)};
    if (std::holds_alternative<bool ReplicaRequest::*>(field.member)) {
        key.type = ValueType::Boolean;
        key.default_value = Booleans{field.usual != 0};
    } else {
        key.type = ValueType::Integer;
        key.unit = "1";
        key.default_value = Integers{field.usual};
        key.range = {.min = static_cast<double>(field.least), .max = static_cast<double>(field.most)};
    }
    return key;
}

}  // namespace

std::vector<KeySpec> model_keys() {
    Texts mixtures;
    for (const auto& entry : kSyntheticMixtures) mixtures.emplace_back(entry.name);
    return {
        {.path = "model.path",
         .type = ValueType::Text,
         .default_value = Texts{""},
         .identity = false,
         .help =
             "A .gguf file or a Hugging Face folder with safetensors. Every rank opens it through its own "
             "file system. The same model at another path is the same job."},
        {.path = "model.synthetic",
         .type = ValueType::Text,
         .default_value = Texts{""},
         .identity = false,
         .help =
             fmt::format("Instead of model.path: random weights with the shape of this model ({}), to plan "
                         "or measure without a file. Uses a byte tokenizer and the ChatML template.",
                         fmt::join(synthetic_shape_names(), ", "))},
        {.path = "model.format",
         .type = ValueType::Text,
         .default_value = Texts{"q8_0"},
         .choices = mixtures,
         .identity = false,
         .help = "Quantization of synthetic weights."},
        {.path = "model.lora",
         .type = ValueType::Text,
         .shape = {any_length},
         .default_value = Texts{},
         .identity = false,
         .help = "LoRA adapters that requests can choose by name: texts NAME=FOLDER, where the folder has "
                 "adapter_config.json and adapter_model.safetensors; or NAME=FILE.gguf. A job is identified "
                 "by their names and content."},
    };
}

std::vector<KeySpec> engine_keys(int usual_context) {
    KeySpec context = replica_key("context");
    if (usual_context > 0) {
        context.help.pop_back();
        context.help += fmt::format(", at most {}.", count_text(usual_context));
    }
    return {
        context,
        replica_key("sequences"),
        replica_key("rows"),
        {.path = "engine.cache",
         .type = ValueType::Text,
         .default_value = Texts{std::string(kKvElementNames.front())},
         .choices = {kKvElementNames.begin(), kKvElementNames.end()},
         .help = "Type of the KV cache. int8 holds about twice the tokens, int4 three times; fp32, on cores "
                 "only, half as many."},
        {.path = "engine.cache_tokens",
         .type = ValueType::Integer,
         .unit = "1",
         .default_value = Integers{0},
         .range = {.min = 0},
         .identity = false,
         .help =
             "Tokens that the KV cache holds for all sequences together; 0: the context of each sequence, "
             "or what fits into memory."},
        replica_key("host_cache_tokens"),
        replica_key("tensor"),
        replica_key("pipeline"),
        replica_key("replicas"),
        replica_key("experts_on_host"),
        replica_key("context_parallel"),
        replica_key("batch_invariant"),
        replica_key("clamp"),
        {.path = "engine.speculate",
         .type = ValueType::Text,
         .default_value = Texts{std::string(kSpeculateNames.front())},
         .choices = {kSpeculateNames.begin(), kSpeculateNames.end()},
         .identity = false,
         .help = sentence_of(kSpeculateHelp)},
        {.path = "engine.draft",
         .type = ValueType::Text,
         .default_value = Texts{""},
         .identity = false,
         .help = fmt::format("A model file or folder, as model.path: {}. In place of engine.speculate.",
                             kDraftHelp)},
        replica_key("draft_tokens"),
        replica_key("draft_ranks"),
    };
}

void check_model_keys(const JobSpec& job, const ReportProblem& report) {
    const std::string& shape = job.text("model.synthetic");
    const std::vector<std::string> shapes = synthetic_shape_names();
    if (!shape.empty() && std::ranges::find(shapes, shape) == shapes.end())
        report("model.synthetic",
               fmt::format("model.synthetic = \"{}\": must be one of {}{}", shape, fmt::join(shapes, ", "),
                           did_you_mean(nearest_word(shape, shapes))));
    try {
        adapter_choices(job.texts("model.lora"));
    } catch (const JobError& error) {
        report("model.lora", fmt::format("model.lora: {}", error.what()));
    }
    if (job.text("model.path").empty() && shape.empty())
        report("model", "model.path is missing (or model.synthetic for random weights)");
    if (!job.text("engine.draft").empty() && job.text("engine.speculate") != kSpeculateNames.front())
        report("engine.draft", "engine.draft and engine.speculate exclude each other");
    if (job.text("engine.draft").empty() && job.integer("engine.draft_ranks") > 0)
        report("engine.draft_ranks", "engine.draft_ranks needs engine.draft");
}

}  // namespace voltpile::llm
