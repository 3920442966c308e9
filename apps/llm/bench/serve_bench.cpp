#include "llm/bench/serve_bench.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/format.h"
#include "http/api_keys.h"
#include "llm/bench/completion_stream.h"
#include "llm/bench/load_report.h"
#include "llm/bench/serve_load.h"
#include "run/parent_launcher.h"
#include "run/progress.h"

namespace voltpile::llm {
namespace {

using nlohmann::json;

int integer_of(const json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number_integer() ? found->get<int>() : 0;
}

ServeTarget target_of(const ServeBenchOptions& options) {
    ServeTarget target;
    target.client.server = http::Url::parse(options.url);
    target.client.trusted = options.trusted;
    target.client.silence_time = std::chrono::seconds(options.silence_seconds);
    target.path = target.client.server.path;
    while (target.path.ends_with('/')) target.path.pop_back();
    if (!target.path.ends_with("/v1")) target.path += "/v1";
    if (!options.api_key_file.empty()) target.key = http::read_api_keys(options.api_key_file).front().key;
    return target;
}

// Asks the server for its model.
void find_model(ServeTarget& target, const ServeBenchOptions& options) {
    const http::Fetched answer =
        http::fetch(target.client, {"GET", target.path + "/models", target.headers(), {}});
    const std::string url = target.url("/models");
    if (answer.status != 200)
        throw CommError(
            fmt::format("GET {}: status {}: {}", url, answer.status, message_of_error(answer.body)));
    const json list = json::parse(answer.body, nullptr, false);
    const json models = list.is_object() && list.contains("data") ? list["data"] : json();
    if (!models.is_array() || models.empty() || !models[0].is_object() || !models[0].contains("id") ||
        !models[0]["id"].is_string())
        throw CommError(fmt::format("GET {}: status 200, but the answer is no list of models: {}", url,
                                    message_of_error(answer.body)));
    const json& model = models[0];
    target.model = model["id"].get<std::string>();
    target.vocabulary = options.vocabulary > 0 ? options.vocabulary : integer_of(model, "vocab_size");
    if (target.vocabulary < 1)
        throw JobError(
            fmt::format("GET {} does not say how many tokens {} has: --vocabulary does", url, target.model));
    const int context = integer_of(model, "max_model_len");
    if (context > 0 && options.load.context() > context)
        throw JobError(fmt::format("sequences of up to {} tokens exceed the context of {} at {}",
                                   options.load.context(), context, options.url));
}

class ServeBench {
  public:
    explicit ServeBench(const ServeBenchOptions& options)
        : options_(options), target_(target_of(options)), line_(terminal_columns()) {}

    void run() {
        find_model(target_, options_);
        std::vector<std::string> expected;
        if (options_.check) expected = texts_alone();
        LoadReport report;
        report.model = target_.model;
        report.server = options_.url;
        report.settings = options_.load;
        report.result = measure(options_.load, expected, "answered").result;
        line_.clear();
        fmt::print("{}", options_.json ? to_json(report) + "\n" : to_text(report));
        std::fflush(stdout);
        fail_if_any(report.result.errors, options_.load.requests);
    }

  private:
    // Sends each distinct prompt while no other is answered.
    std::vector<std::string> texts_alone() {
        LoadSettings alone = options_.load;
        if (alone.prompts > 0) alone.requests = std::min(alone.requests, alone.prompts);
        alone.clients = 1;
        ServeAnswers answers = measure(alone, {}, "answered alone");
        line_.clear();
        fail_if_any(answers.result.errors, alone.requests);
        return std::move(answers.texts);
    }

    ServeAnswers measure(const LoadSettings& load, const std::vector<std::string>& expected,
                         const char* what) {
        return run_serve_load(target_, load, expected, [&](int ended) {
            if (terminal_columns() > 0 && (ended % 16 == 0 || ended == load.requests))
                line_.show(fmt::format("{} of {} {}", ended, load.requests, what));
        });
    }

    void fail_if_any(const std::vector<std::string>& errors, int requests) const {
        if (errors.empty()) return;
        throw CommError(fmt::format("POST {}: {} of {} requests failed; the first: {}",
                                    target_.url("/completions"), count_text(std::ssize(errors)),
                                    count_text(requests), errors.front()));
    }

    const ServeBenchOptions& options_;
    ServeTarget target_;
    LiveLine line_;
};

}  // namespace

void run_serve_bench(const ServeBenchOptions& options) {
    ServeBench(options).run();
}

}  // namespace voltpile::llm
