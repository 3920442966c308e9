#include "llm/serve/serve_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "job/job_spec.h"
#include "llm/serve/model_server.h"
#include "llm/serve/serve_fields.h"
#include "llm/session/job_keys.h"

namespace voltpile {
namespace {

constexpr const char* serve_example = R"(app = "serve"

[model]
path = "Meta-Llama-3-8B-Instruct-Q8_0.gguf"   # or a Hugging Face folder

[serve]
host = "0.0.0.0"                         # also for other machines
port = 8000
api_key_file = "keys.txt"                # one key a line
grace = 60                               # seconds for running requests to finish

[engine]
context = 8192
sequences = 64                           # answered at once; more wait
)";

constexpr double usual_range_seconds = 2;  // src/job/key_table.cpp

KeySpec key_with(const std::string& otherwise) {
    return {.type = ValueType::Text, .default_value = Texts{otherwise}};
}
KeySpec key_with(int otherwise) {
    return {.type = ValueType::Integer, .unit = "1", .default_value = Integers{otherwise}};
}
KeySpec key_with(bool otherwise) {
    return {.type = ValueType::Boolean, .default_value = Booleans{otherwise}};
}
KeySpec key_with(const std::vector<std::string>& otherwise) {
    return {.type = ValueType::Text, .shape = {any_length}, .default_value = Texts(otherwise)};
}

KeySpec serve_key(const llm::ServeField& field) {
    const llm::ServeOptions defaults;
    KeySpec key = std::visit([&](auto member) { return key_with(defaults.*member); }, field.member);
    key.path = fmt::format("serve.{}", field.name);
    if (key.type == ValueType::Integer)
        key.range = {.min = static_cast<double>(field.least), .max = static_cast<double>(field.most)};
    key.choices.assign(field.choices.begin(), field.choices.end());
    if (field.name == "grace") key.unit = "s";
    if (field.name == "body_mb") key.unit = "MiB";
    key.identity = false;
    key.help = fmt::format("{}.", field.help);
    key.help.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(key.help.front())));
    if (field.name == "address_file")
        key.help +=
            " Empty: results/NAME.address for the job file NAME.toml. FILE.json beside it says how busy "
            "the server is.";
    return key;
}

void check_serve(const JobSpec& job, const ReportProblem& report) {
    llm::check_model_keys(job, report);
    if (job.text("serve.host").empty())
        report("serve.host", "serve.host is empty: name an address, or leave it out");
    const bool certificate = !job.text("serve.tls_cert").empty();
    const bool key = !job.text("serve.tls_key").empty();
    if (certificate && !key) report("serve.tls_cert", "serve.tls_cert needs serve.tls_key");
    if (key && !certificate) report("serve.tls_key", "serve.tls_key needs serve.tls_cert");
    if (std::ranges::count(job.texts("serve.cors_origin"), "") > 0)
        report("serve.cors_origin", "serve.cors_origin contains an empty string");
    if (job.real("run.range_seconds") != usual_range_seconds)
        report("run.range_seconds", "run.range_seconds: a server computes no ranges");
    if (job.integer("run.range_points") > 0)
        report("run.range_points", "run.range_points: a server computes no ranges");
    const std::int64_t context = job.integer("engine.context");
    const std::int64_t cache = job.integer("engine.cache_tokens");
    if (cache > 0 && cache < context)
        report("engine.cache_tokens",
               fmt::format("engine.cache_tokens = {} is too small for one sequence of {} tokens "
                           "(engine.context)",
                           cache, context));
}

}  // namespace

AppSchema serve_schema() {
    AppSchema schema;
    schema.name = "serve";
    schema.summary =
        "Answers HTTP requests with a language model until it is stopped, as `voltpile serve` does. Such a "
        "job "
        "has no result and ends with exit code 5.";
    schema.keys = llm::model_keys();
    for (const llm::ServeField& field : llm::kServeFields) schema.keys.push_back(serve_key(field));
    for (KeySpec& key : llm::engine_keys(llm::longest_usual_context)) schema.keys.push_back(std::move(key));
    schema.example = serve_example;
    schema.check = check_serve;
    schema.sweeps = false;
    return schema;
}

}  // namespace voltpile
