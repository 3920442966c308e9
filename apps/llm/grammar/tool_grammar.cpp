#include "llm/grammar/tool_grammar.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/grammar/harmony_grammar.h"
#include "llm/grammar/json_schema.h"
#include "llm/grammar/json_text.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

ExpressionPtr line_or_space() {
    return optional(choice({literal("\n"), literal(" ")}));
}

JsonProperty text_member(std::string_view key, std::string_view value) {
    return {literal(fmt::format("\"{}\"", key)), literal(fmt::format("\"{}\"", value)), true};
}

// A call as an object in JSON. with_type: its first member is "type".
ExpressionPtr call_object(JsonText& json, std::string_view tool, std::string_view key,
                          const ExpressionPtr& arguments, bool with_type = false) {
    std::vector<JsonProperty> members;
    if (with_type) members.push_back(text_member("type", "function"));
    members.push_back(text_member("name", tool));
    members.push_back({literal(fmt::format("\"{}\"", key)), arguments, true});
    return json.object(members, nullptr, nullptr);
}

}  // namespace

GrammarSource tool_grammar_source(const ToolGrammar& grammar) {
    ordered_json tools = ordered_json::array();
    for (const ToolGrammar::Tool& each : grammar.tools)
        tools.push_back({{"name", each.name}, {"schema", each.schema}});
    const ordered_json source{{"format", name(grammar.format)},
                              {"required", grammar.required},
                              {"parallel", grammar.parallel},
                              {"thinks", grammar.thinks},
                              {"tools", std::move(tools)}};
    return {GrammarSource::Kind::ToolCalls, source.dump()};
}

ToolGrammar read_tool_grammar(std::string_view source) {
    const ordered_json json = ordered_json::parse(source);
    ToolGrammar grammar;
    grammar.format = tool_format_named(json.at("format").get<std::string>()).value();
    grammar.required = json.at("required").get<bool>();
    grammar.parallel = json.at("parallel").get<bool>();
    grammar.thinks = json.at("thinks").get<bool>();
    for (const ordered_json& each : json.at("tools"))
        grammar.tools.push_back({each.at("name").get<std::string>(), each.at("schema").get<std::string>()});
    return grammar;
}

GrammarRules rules_of_calls(const ToolGrammar& grammar, WorkLimit& limit) {
    JsonText json;
    std::vector<ExpressionPtr> calls;  // one for each tool
    std::vector<HarmonyCall> harmony_calls;
    for (const ToolGrammar::Tool& tool : grammar.tools) {
        ExpressionPtr arguments;
        try {
            arguments = add_json_schema(json, tool.schema, limit);
        } catch (const JobError& error) {
            throw JobError(fmt::format("the tool \"{}\": {}", tool.name, error.what()));
        }
        switch (grammar.format) {
            case ToolFormat::Hermes:
            case ToolFormat::Mistral:
                calls.push_back(call_object(json, tool.name, "arguments", arguments));
                break;
            case ToolFormat::Llama3:
                calls.push_back(call_object(json, tool.name, "parameters", arguments));
                calls.push_back(call_object(json, tool.name, "parameters", arguments, true));
                break;
            case ToolFormat::MistralArgs:
                calls.push_back(sequence({literal(tool.name + "[ARGS]"), arguments}));
                break;
            case ToolFormat::Harmony:
                harmony_calls.push_back({tool.name, arguments});
        }
    }
    const ExpressionPtr marker = literal(call_marker(grammar.format));
    ExpressionPtr one = choice(std::move(calls)), all;
    const int most = grammar.parallel ? -1 : 1;
    switch (grammar.format) {
        case ToolFormat::Hermes:
            one = json.shared(
                "call", sequence({marker, line_or_space(), one, line_or_space(), literal("</tool_call>")}));
            all = one;
            if (grammar.parallel) all = sequence({one, repeat(sequence({line_or_space(), one}), 0, -1)});
            break;
        case ToolFormat::Llama3:  // these models call one tool at a time
            all = sequence({optional(marker), one});
            break;
        case ToolFormat::Mistral:
            all = sequence({marker, optional(literal(" ")), json.array({}, one, 1, most)});
            break;
        case ToolFormat::MistralArgs:
            all = repeat(sequence({marker, one}), 1, most);
            break;
        case ToolFormat::Harmony:
            all = harmony_call(json, harmony_calls, grammar.required);
    }
    json.rules().root = json.rules().add("root", all);
    return std::move(json.rules());
}

}  // namespace voltpile::llm
