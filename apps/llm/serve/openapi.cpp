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

Schema any_text() {
    return {{"type", "string"}};
}

Schema constant(const char* value) {
    return {{"const", value}};
}

// A text, or a list of parts of this type.
Schema content_of(const char* type) {
    return any_of(
        {any_text(), list_of(object({{"type", constant(type)}, {"text", any_text()}}, {"type", "text"}))});
}

Schema messages() {
    const Schema function =
        object({{"name", any_text()}, {"arguments", any_of({any_text(), {{"type", "object"}}})}}, {"name"});
    const Schema calls = list_of(object(
        {{"id", of_type("string")}, {"type", constant("function")}, {"function", function}}, {"function"}));
    const Schema content = content_of("text");
    const auto message = [&](Schema role, Schema more, const char* required) {
        Schema fields{{"role", std::move(role)}, {"content", content}, {"name", of_type("string")}};
        fields.update(more);
        return object(std::move(fields), {"role", required});
    };
    return list_of(any_of({message({{"enum", {"system", "developer", "user", "assistant"}}}, Schema::object(),
                                   "content"),
                           message(constant("assistant"),
                                   {{"content", any_of({content, {{"type", "null"}}})},
                                    {"reasoning_content", of_type("string")},
                                    {"tool_calls", calls}},
                                   "tool_calls"),
                           message(constant("tool"), {{"tool_call_id", of_type("string")}}, "content")}),
                   1);
}

// A tool, whose schema has this name. more: other fields, all of them required.
Schema tool(const char* schema, const Schema& more) {
    Schema fields{{"name", {{"type", "string"}, {"pattern", "^[A-Za-z0-9_.-]{1,128}$"}}},
                  {"description", of_type("string")},
                  {schema, of_type("object")},
                  {"strict", of_type("boolean")}};
    std::vector<std::string> required{"name"};
    for (const auto& [name, of] : more.items()) {
        fields[name] = of;
        required.push_back(name);
    }
    return object(std::move(fields), std::move(required));
}

// The choice of a tool by a word or by `named`.
Schema tool_choice(const Schema& named) {
    return any_of({{{"enum", {"auto", "none", "required", nullptr}}}, named});
}

// The names of the model and of its adapters.
Schema model_names(const ServedModel& model) {
    Schema names{model.name, nullptr};
    for (const std::string& adapter : model.adapters) names.push_back(adapter);
    return {{"enum", names}};
}

Schema adapter_names(const ServedModel& model) {
    Schema names = Schema::array({nullptr});
    for (const std::string& adapter : model.adapters) names.push_back(adapter);
    return {{"enum", names}};
}

Schema sampling_fields() {
    Schema fields = Schema::object();
    for (const RequestField& field : kRequestFields)
        if (std::holds_alternative<float SamplingSettings::*>(field.member))
            fields[std::string(field.name)] = numbers(field.least, field.most);
    fields["top_k"] = integers(-1, static_cast<std::int64_t>(find_request_field("top_k")->most));
    return fields;
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
    Schema fields{{"model", model_names(model)},
                  {"lora", adapter_names(model)},
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
    fields.update(sampling_fields());
    return fields;
}

Schema efforts() {
    return {{"enum", {"low", "medium", "high", nullptr}}};
}

Schema chat_schema(const ServedModel& model) {
    Schema fields = generation_fields(model);
    Schema template_fields{{"enable_thinking", of_type("boolean")}};
    if (model.takes_effort) template_fields["reasoning_effort"] = fields["reasoning_effort"] = efforts();
    fields["chat_template_kwargs"] = object(std::move(template_fields));
    fields["messages"] = messages();
    fields["max_completion_tokens"] = integers(kLeastNewTokens, kMostNewTokens);
    fields["prompt_logprobs"] = integers(0, kMostTop);
    fields["logprobs"] = of_type("boolean");
    fields["top_logprobs"] = integers(0, kMostTop);
    fields["tools"] =
        list_of(object({{"type", constant("function")}, {"function", tool("parameters", Schema::object())}},
                       {"type", "function"}));
    const Schema name = object({{"name", any_text()}}, {"name"});
    fields["tool_choice"] =
        tool_choice(object({{"type", constant("function")}, {"function", name}}, {"type", "function"}));
    fields["parallel_tool_calls"] = of_type("boolean");
    return object(std::move(fields), {"messages"});
}

Schema responses_schema(const ServedModel& model) {
    Schema fields = sampling_fields();
    const Schema content =
        any_of({any_text(),
                list_of(object({{"type", {{"enum", {"input_text", "output_text"}}}}, {"text", any_text()}},
                               {"type", "text"}))});
    const Schema message = object({{"type", constant("message")},
                                   {"role", {{"enum", {"system", "developer", "user", "assistant"}}}},
                                   {"content", content},
                                   {"id", of_type("string")},
                                   {"status", of_type("string")}},
                                  {"role", "content"});
    const Schema call = object({{"type", constant("function_call")},
                                {"call_id", any_text()},
                                {"name", any_text()},
                                {"arguments", any_text()},
                                {"id", of_type("string")},
                                {"status", of_type("string")}},
                               {"type", "call_id", "name", "arguments"});
    const Schema thought = object({{"type", constant("reasoning")},
                                   {"summary", list_of(Schema::object())},
                                   {"content", content_of("reasoning_text")},
                                   {"id", of_type("string")},
                                   {"status", of_type("string")}},
                                  {"type"});
    const Schema output = object({{"type", constant("function_call_output")},
                                  {"call_id", any_text()},
                                  {"output", content},
                                  {"id", of_type("string")},
                                  {"status", of_type("string")}},
                                 {"type", "call_id", "output"});
    const Schema format = any_of({object({{"type", {{"enum", {"text", "json_object"}}}}}, {"type"}),
                                  object({{"type", constant("json_schema")},
                                          {"name", of_type("string")},
                                          {"description", of_type("string")},
                                          {"schema", of_type("object")},
                                          {"strict", of_type("boolean")}},
                                         {"type", "schema"})});
    Schema reasoning{{"summary", of_type("string")}, {"generate_summary", of_type("string")}};
    if (model.takes_effort) reasoning["effort"] = efforts();
    fields["reasoning"] = object(std::move(reasoning));
    fields.update({{"model", model_names(model)},
                   {"input", any_of({any_text(), list_of(any_of({message, thought, call, output}), 1)})},
                   {"lora", adapter_names(model)},
                   {"instructions", of_type("string")},
                   {"max_output_tokens", integers(kLeastNewTokens, kMostNewTokens)},
                   {"stream", of_type("boolean")},
                   {"text", object({{"format", format}})},
                   {"tools", list_of(tool("parameters", {{"type", constant("function")}}))},
                   {"tool_choice", tool_choice(object({{"type", constant("function")}, {"name", any_text()}},
                                                      {"type", "name"}))},
                   {"parallel_tool_calls", of_type("boolean")}});
    return object(std::move(fields), {"input"});
}

// Anthropic's API.
Schema messages_schema(const ServedModel& model) {
    Schema fields = sampling_fields();
    const Schema text = object({{"type", constant("text")}, {"text", any_text()}}, {"type", "text"});
    const Schema use = object({{"type", constant("tool_use")},
                               {"id", any_text()},
                               {"name", any_text()},
                               {"input", {{"type", "object"}}}},
                              {"type", "id", "name", "input"});
    const Schema result = object({{"type", constant("tool_result")},
                                  {"tool_use_id", any_text()},
                                  {"content", content_of("text")},
                                  {"is_error", of_type("boolean")}},
                                 {"type", "tool_use_id"});
    const Schema thought =
        object({{"type", constant("thinking")}, {"thinking", any_text()}, {"signature", of_type("string")}},
               {"type", "thinking"});
    const auto message = [&](const char* role, const std::vector<Schema>& blocks) {
        return object({{"role", constant(role)}, {"content", any_of({any_text(), list_of(any_of(blocks))})}},
                      {"role", "content"});
    };
    const Schema choice = any_of({object({{"type", {{"enum", {"auto", "any", "none"}}}},
                                          {"disable_parallel_tool_use", of_type("boolean")}},
                                         {"type"}),
                                  object({{"type", constant("tool")},
                                          {"name", any_text()},
                                          {"disable_parallel_tool_use", of_type("boolean")}},
                                         {"type", "name"})});
    fields.update(
        {{"model", model_names(model)},
         {"messages",
          list_of(any_of({message("user", {text, result}), message("assistant", {text, thought, use})}), 1)},
         {"system", content_of("text")},
         {"lora", adapter_names(model)},
         {"max_tokens", integers(kLeastNewTokens, kMostNewTokens)},
         {"stop_sequences", list_of({{"type", "string"}, {"minLength", 1}})},
         {"stream", of_type("boolean")},
         {"tools", list_of(tool("input_schema", Schema::object()))},
         {"tool_choice", choice}});
    return object(std::move(fields), {"messages", "max_tokens"});
}

Schema completion_schema(const ServedModel& model) {
    const Schema text{{"type", "string"}};
    const Schema tokens = list_of(token_of(model), 1);
    Schema fields = generation_fields(model);
    fields["prompt"] = any_of({text, tokens, list_of(text, 1), list_of(tokens, 1)});
    fields["logprobs"] = integers(0, kMostTop);
    fields["prompt_logprobs"] = integers(0, kMostTop);
    fields["echo"] = of_type("boolean");
    fields["max_tokens"] = integers(0, kMostNewTokens);  // 0: with echo only
    return object(std::move(fields), {"prompt"});
}

Schema error_schema() {
    const Schema error = object({{"message", {{"type", "string"}}},
                                 {"type", {{"type", "string"}}},
                                 {"param", of_type("string")},
                                 {"code", of_type("string")}},
                                {"message", "type"});
    return object({{"error", error}}, {"error"});
}

// Of Anthropic's API.
Schema messages_error_schema() {
    const Schema error = object({{"type", any_text()}, {"message", any_text()}}, {"type", "message"});
    return object({{"type", constant("error")}, {"error", error}}, {"type", "error"});
}

Schema responses(const char* content_type, const Schema& error) {
    return {{"200", {{"description", "the answer"}, {"content", {{content_type, Schema::object()}}}}},
            {"default",
             {{"description", "the request is refused, or failed"},
              {"content", {{"application/json", {{"schema", error}}}}}}}};
}

Schema get(const char* summary, const char* content_type = "application/json") {
    return {{"get", {{"summary", summary}, {"responses", responses(content_type, error_schema())}}}};
}

Schema post(const char* summary, Schema schema, const Schema& error = error_schema()) {
    const Schema body{{"required", true},
                      {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
    return {
        {"post",
         {{"summary", summary}, {"requestBody", body}, {"responses", responses("application/json", error)}}}};
}

}  // namespace

std::string openapi_json(const ServedModel& model) {
    const Schema text = any_text();
    const Schema tokens = list_of(token_of(model));
    const Schema to_tokens = object({{"prompt", text},
                                     {"add_special_tokens", of_type("boolean")},
                                     {"return_token_strs", of_type("boolean")}},
                                    {"prompt"});
    const Schema paths{
        {"/v1/chat/completions", post("answer a conversation", chat_schema(model))},
        {"/v1/completions", post("continue prompts", completion_schema(model))},
        {"/v1/responses", post("OpenAI's newer API", responses_schema(model))},
        {"/v1/messages", post("Anthropic's API", messages_schema(model), messages_error_schema())},
        {"/tokenize", post("tokens of a text", to_tokens)},
        {"/detokenize", post("text of tokens", object({{"tokens", tokens}}, {"tokens"}))},
        {"/tokenizer_info", get("special tokens and chat template")},
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
