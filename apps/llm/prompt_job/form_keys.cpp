#include "llm/prompt_job/form_keys.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "llm/grammar/response_format.h"

namespace voltpile::llm {
namespace {

std::string key_of_field(std::string_view field) {
    return fmt::format("generate.{}", field);
}

const char* help_of_field(std::string_view field) {
    if (field == "response_format")
        return "Every answer is JSON: response_format of OpenAI's API as a text, such as "
               "'{\"type\": \"json_object\"}' or '{\"type\": \"json_schema\", \"json_schema\": {\"name\": "
               "\"person\", \"schema\": {...}}}'.";
    if (field == "regex") return "Every answer as a whole matches this regular expression.";
    return "Every answer is in this grammar: the text of a grammar file (GBNF).";
}

}  // namespace

std::vector<KeySpec> form_keys() {
    std::vector<KeySpec> keys;
    for (const std::string_view field : kFormFields) {
        const bool last = field == kFormFields.back();
        keys.push_back({.path = key_of_field(field),
                        .type = ValueType::Text,
                        .default_value = Texts{""},
                        .help = fmt::format("{}{}", help_of_field(field),
                                            last ? " One of the three may be set; a prompt's own line comes "
                                                   "first. docs/models.md says what they may contain."
                                                 : "")});
    }
    return keys;
}

std::optional<GrammarSource> form_of_job(const JobSpec& job) {
    nlohmann::ordered_json request = nlohmann::ordered_json::object();
    for (const std::string_view field : kFormFields) {
        const std::string text = job.text(key_of_field(field));
        if (text.empty()) continue;
        if (field != "response_format") {
            request[std::string(field)] = text;
            continue;
        }
        try {
            request[std::string(field)] = nlohmann::ordered_json::parse(text);
        } catch (const nlohmann::json::exception& error) {
            throw JobError(fmt::format("not JSON: {}", error.what()));
        }
    }
    return grammar_in_request(request);
}

void check_form_keys(const JobSpec& job, const ReportProblem& report) {
    std::string key;  // the last one that is set
    for (const std::string_view field : kFormFields)
        if (!job.text(key_of_field(field)).empty()) key = key_of_field(field);
    if (key.empty()) return;
    try {
        const auto grammar = form_of_job(job);
        if (grammar) check_grammar(*grammar);
        if (grammar && job.boolean("generate.ignore_end"))
            report(key, fmt::format("{} and generate.ignore_end exclude each other", key));
    } catch (const JobError& error) {
        report(key, fmt::format("{}: {}", key, error.what()));
    }
}

}  // namespace voltpile::llm
