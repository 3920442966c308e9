#include "llm/prompt_job/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "job/job_spec.h"
#include "job/nearest.h"
#include "llm/model/quant_mixture.h"
#include "llm/model/synthetic_shapes.h"
#include "llm/ops/ops.h"

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
sequences = 64                           # texts written at once
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

KeySpec real_key(std::string path, double otherwise, double least, double most, const char* help) {
    return {.path = std::move(path),
            .unit = "1",
            .default_value = Reals{otherwise},
            .range = {.min = least, .max = most},
            .help = help};
}

KeySpec with_choices(KeySpec spec, Texts choices) {
    spec.choices = std::move(choices);
    return spec;
}

// Of what decides how fast the texts come, and not what is in them; or of what counts by its contents.
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
                             "A .gguf file, or a Hugging Face folder with safetensors. Every rank opens it, "
                             "each through its own file system. The same model elsewhere is the same job.")),
        no_identity({.path = "model.synthetic",
                     .type = ValueType::Text,
                     .default_value = Texts{""},
                     .help = fmt::format(
                         "In place of model.path: random weights of this shape ({}), to plan or to measure "
                         "without a file. With a tokenizer of single bytes, and the ChatML template.",
                         fmt::join(llm::synthetic_shape_names(), ", "))}),
        no_identity(
            with_choices(text_key("model.format", "q8_0", "How synthetic weights are quantized."), mixtures)),
    };
}

std::vector<KeySpec> prompt_keys() {
    auto files =
        no_identity(list_key("prompts.files",
                             "Files with the prompts, read by rank 0 alone, in this order. Which files does "
                             "not matter for what job "
                             "it is, but what is in them: a job whose prompts have changed is refused."));
    return {
        files,
        no_identity(with_choices(
            text_key(
                "prompts.format", "auto",
                "jsonl: a JSON object a line (docs/models.md has its fields). text: a prompt a line. auto: "
                "jsonl for files that end in .jsonl or .ndjson, text for others."),
            {"auto", "jsonl", "text"})),
        with_choices(text_key("prompts.on_error", "stop",
                              "What to do about lines that cannot be used. stop: name them all and compute "
                              "nothing. skip: their rows say why, the others are computed."),
                     {"stop", "skip"}),
    };
}

std::vector<KeySpec> sampling_keys() {
    return {
        real_key("sampling.temperature", 0, 0, 100, "0: always the most probable token."),
        integer_key("sampling.top_k", 0, {.min = 0, .max = 1 << 24},
                    "Draw from so many tokens; 0: from all."),
        real_key("sampling.top_p", 1, 0, 1, "Draw from the fewest tokens with this share of probability."),
        real_key("sampling.min_p", 0, 0, 1, "Draw from tokens above this share of the first's probability."),
        real_key("sampling.repetition_penalty", 1, 0.01, 100,
                 "Logits of tokens in the text are divided by it if positive, else multiplied."),
        real_key("sampling.presence_penalty", 0, -100, 100,
                 "Subtracted from the logits of tokens in the text."),
        real_key("sampling.frequency_penalty", 0, -100, 100,
                 "Subtracted from the logits of tokens in the text, for each time they occur."),
        integer_key(
            "sampling.seed", 0, {.min = 0},
            "Of the draws. Prompt n (from 0) has the seed plus n, unless its line has one, so that the "
            "order of work does not matter."),
    };
}

std::vector<KeySpec> generate_keys() {
    auto stop = list_key("generate.stop", "A text ends before the first of these that it would contain.");
    stop.default_value = Texts{};
    return {
        integer_key("generate.max_tokens", 128, {.min = 1, .max = 1 << 24},
                    "At most so many tokens for each prompt."),
        stop,
        integer_key("generate.top_n", 0, {.min = 0, .max = llm::Ops::most_top},
                    "So many of the most probable tokens are written with each one drawn, with their "
                    "log-probabilities."),
        {.path = "generate.ignore_end",
         .type = ValueType::Boolean,
         .default_value = Booleans{false},
         .help = "Go on after a token that ends a text."},
    };
}

std::vector<KeySpec> engine_keys() {
    return {
        integer_key("engine.context", 0, {.min = 0, .max = 1 << 24},
                    "Room for so many tokens of each text, prompt included; 0: what the model was made for."),
        no_identity(integer_key("engine.sequences", 64, {.min = 1, .max = 4096},
                                "Texts that each copy of the model writes at once.")),
        no_identity(integer_key("engine.rows", 512, {.min = 1, .max = 65536},
                                "The most tokens of a pass through the model; at least engine.sequences.")),
        with_choices(text_key("engine.cache", "fp16",
                              "How keys and values are kept. int8 has room for twice the tokens."),
                     {"fp16", "int8"}),
        no_identity(
            integer_key("engine.cache_tokens", 0, {.min = 0},
                        "Room for so many tokens of all texts together; 0: for the context of each, or "
                        "what memory has.")),
        no_identity(
            integer_key("engine.tensor", 0, {.min = 0, .max = 1024},
                        "Ranks that share each layer (tensor parallelism); 0: as many as there are and "
                        "the model can be cut over.")),
        no_identity(
            integer_key("engine.pipeline", 0, {.min = 0, .max = 1024},
                        "Stages that share out the layers (pipeline parallelism); 0: as few as hold the "
                        "model.")),
        no_identity(integer_key("engine.replicas", 0, {.min = 0, .max = 65536},
                                "Copies of the model, which share the prompts; 0: as many as there is room "
                                "for.")),
        no_identity(
            {.path = "engine.batch_invariant",
             .type = ValueType::Boolean,
             .default_value = Booleans{false},
             .help = "On GPUs: a text is the same to the bit whatever else is computed with it, as it "
                     "always is on processors. Prompts then take a tenth longer, a single text a quarter."}),
        {.path = "engine.clamp",
         .type = ValueType::Boolean,
         .default_value = Booleans{false},
         .help = "Activations that fp16 cannot hold become its largest number, 65504, and not infinite: for "
                 "models trained in bf16 whose texts end with logits that are not finite."},
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
    if (!path && !synthetic)
        report("model", "model.path is missing (or model.synthetic, for random weights)");
    if (job.texts("prompts.files").empty()) report("prompts.files", "prompts.files names no file");
    for (const std::string& stop : job.texts("generate.stop"))
        if (stop.empty()) report("generate.stop", "generate.stop has an empty text, which is everywhere");
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
        "Has a language model continue, or answer, every prompt of one or more files: many at once, into one "
        "row of the result each.";
    for (auto rows : {model_keys(), prompt_keys(), sampling_keys(), generate_keys(), engine_keys()})
        schema.keys.insert(schema.keys.end(), rows.begin(), rows.end());
    schema.example = example;
    schema.check = check;
    schema.sweeps = false;
    return schema;
}

}  // namespace voltpile
