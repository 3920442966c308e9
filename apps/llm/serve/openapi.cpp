#include "llm/serve/openapi.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "base/build_info.h"
#include "llm/engine/request_fields.h"

namespace voltpile::llm {
namespace {

using Schema = nlohmann::ordered_json;

Schema of_type(const char* type) {
    return {{"type", {type, "null"}}};  // a field that is null counts as absent
}

Schema numbers(double least, double most) {
    Schema schema = of_type("number");
    schema["minimum"] = least;
    schema["maximum"] = most;
    return schema;
}

Schema integers(std::int64_t least, std::int64_t most) {
    Schema schema = of_type("integer");
    schema["minimum"] = least;
    schema["maximum"] = most;
    return schema;
}

Schema object(Schema properties, std::vector<std::string> required = {}) {
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
}

Schema list_of(Schema items, int least = 0) {
    return {{"type", "array"}, {"items", std::move(items)}, {"minItems", least}};
}

Schema any_of(const std::vector<Schema>& choices) {
    return {{"anyOf", choices}};
}

Schema token_of(const ServedModel& model) {
    return {{"type", "integer"}, {"minimum", 0}, {"maximum", model.vocabulary - 1}};
}

Schema messages() {
    const Schema text{{"type", "string"}};
    const Schema part = object({{"type", {{"const", "text"}}}, {"text", text}}, {"type", "text"});
    const Schema message = object({{"role", {{"enum", {"system", "developer", "user", "assistant"}}}},
                                   {"content", any_of({text, list_of(part)})}},
                                  {"role", "content"});
    return list_of(message, 1);
}

Schema response_format() {
    const Schema schema =
        object({{"name", of_type("string")}, {"schema", of_type("object")}, {"strict", of_type("boolean")}},
               {"schema"});
    return any_of(
        {object({{"type", {{"enum", {"text", "json_object"}}}}}, {"type"}),
         object({{"type", {{"const", "json_schema"}}}, {"json_schema", schema}}, {"type", "json_schema"})});
}

// The fields of read_generation_fields().
Schema generation_fields(const ServedModel& model) {
    const Schema text{{"type", "string"}, {"minLength", 1}};
    Schema fields{{"model", {{"enum", {model.name, nullptr}}}},
                  {"n", integers(1, kMostAnswers)},
                  {"stream", of_type("boolean")},
                  {"stream_options", object({{"include_usage", of_type("boolean")}})},
                  {"stop", any_of({text, list_of(text)})},
                  {"stop_token_ids", list_of(token_of(model))},
                  {"seed", integers(std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max())},
                  {"ignore_eos", of_type("boolean")},
                  {"logit_bias", of_type("object")},
                  {"response_format", response_format()},
                  {"regex", text},
                  {"grammar", text},
                  {"max_tokens", integers(kLeastNewTokens, kMostNewTokens)},
                  {"user", of_type("string")}};
    for (const RequestField& field : kRequestFields)
        if (std::holds_alternative<float SamplingSettings::*>(field.member))
            fields[std::string(field.name)] = numbers(field.least, field.most);
    fields["top_k"] = integers(-1, static_cast<std::int64_t>(find_request_field("top_k")->most));
    return fields;
}

Schema chat_schema(const ServedModel& model) {
    Schema fields = generation_fields(model);
    fields["messages"] = messages();
    fields["max_completion_tokens"] = integers(kLeastNewTokens, kMostNewTokens);
    fields["logprobs"] = of_type("boolean");
    fields["top_logprobs"] = integers(0, kMostTop);
    return object(std::move(fields), {"messages"});
}

Schema completion_schema(const ServedModel& model) {
    const Schema text{{"type", "string"}};
    const Schema tokens = list_of(token_of(model), 1);
    Schema fields = generation_fields(model);
    fields["prompt"] = any_of({text, tokens, list_of(text, 1), list_of(tokens, 1)});
    fields["logprobs"] = integers(0, kMostTop);
    fields["echo"] = of_type("boolean");
    return object(std::move(fields), {"prompt"});
}

Schema responses(const char* content_type) {
    const Schema error = object({{"message", {{"type", "string"}}},
                                 {"type", {{"type", "string"}}},
                                 {"param", of_type("string")},
                                 {"code", of_type("string")}},
                                {"message", "type"});
    return {{"200", {{"description", "the answer"}, {"content", {{content_type, Schema::object()}}}}},
            {"default",
             {{"description", "the request is refused, or failed"},
              {"content", {{"application/json", {{"schema", object({{"error", error}}, {"error"})}}}}}}}};
}

Schema get(const char* summary, const char* content_type = "application/json") {
    return {{"get", {{"summary", summary}, {"responses", responses(content_type)}}}};
}

Schema post(const char* summary, Schema schema) {
    const Schema body{{"required", true},
                      {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
    return {{"post",
             {{"summary", summary}, {"requestBody", body}, {"responses", responses("application/json")}}}};
}

}  // namespace

std::string openapi_json(const ServedModel& model) {
    const Schema text{{"type", "string"}};
    const Schema tokens = list_of(token_of(model));
    const Schema to_tokens = object({{"prompt", text},
                                     {"add_special_tokens", of_type("boolean")},
                                     {"return_token_strs", of_type("boolean")}},
                                    {"prompt"});
    const Schema paths{{"/v1/chat/completions", post("answer a conversation", chat_schema(model))},
                       {"/v1/completions", post("continue prompts", completion_schema(model))},
                       {"/tokenize", post("tokens of a text", to_tokens)},
                       {"/detokenize", post("text of tokens", object({{"tokens", tokens}}, {"tokens"}))},
                       {"/v1/models", get("the model")},
                       {"/health", get("200 as long as the process runs")},
                       {"/ready", get("503 while the server stops")},
                       {"/version", get("the version of Voltpile")},
                       {"/metrics", get("counters in Prometheus' text format", "text/plain")},
                       {"/openapi.json", get("this description")}};
    return Schema{{"openapi", "3.1.0"},
                  {"info", {{"title", "voltpile serve"}, {"version", build_info().version}}},
                  {"paths", paths}}
        .dump();
}

}  // namespace voltpile::llm
