#include "llm/serve/tools_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "llm/chat/jinja/json_value.h"
#include "llm/grammar/tool_grammar.h"
#include "llm/serve/api_error.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t longest_tool_name = 128;
constexpr std::size_t most_tools = 512;

bool may_be_tool_name(std::string_view name) {
    return !name.empty() && name.size() <= longest_tool_name && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-' || c == '.';
    });
}

void check_tools(const std::vector<OfferedTool>& tools, const ToolChoice& choice) {
    const auto refuse = [](const std::string& field, const std::string& problem) {
        throw ApiError(400, fmt::format("\"{}\" {}", field, problem), field);
    };
    if (tools.size() > most_tools)
        refuse("tools", fmt::format("has {} tools; at most {} are supported", tools.size(), most_tools));
    for (std::size_t i = 0; i < tools.size(); ++i) {
        const std::string field = tools[i].place + ".name";
        if (!may_be_tool_name(tools[i].name))
            refuse(field,
                   fmt::format("must have 1 to {} letters, digits, '_', '-' or '.'", longest_tool_name));
        for (std::size_t j = 0; j < i; ++j)
            if (tools[j].name == tools[i].name)
                refuse(field, fmt::format("is \"{}\", as that of another tool", tools[i].name));
    }
    if (!choice.name.empty() && std::ranges::find(tools, choice.name, &OfferedTool::name) == tools.end())
        refuse("tool_choice", fmt::format("names \"{}\", which is none of the tools", choice.name));
    if (tools.empty() && choice.kind == ToolChoice::Kind::Required) refuse("tool_choice", "needs tools");
}

void check_model_takes_tools(const ServedModel& model) {
    if (!model.takes_tools)
        throw ApiError(400, "\"tools\" is not possible: the chat template has no place for tools", "tools");
    if (!model.tool_format)
        throw ApiError(400,
                       "\"tools\" is not possible: this server does not know how the model writes calls of "
                       "tools; start it with --tool-format",
                       "tools");
}

ordered_json parameters_of(const OfferedTool& tool) {
    if (tool.parameters.is_null()) return {{"type", "object"}, {"properties", ordered_json::object()}};
    return tool.parameters;
}

// The form of OpenAI's chat API, which templates expect; those of the harmony format expect a description.
ordered_json rendered_tool(const OfferedTool& tool, ToolFormat format) {
    ordered_json function{{"name", tool.name}};
    if (!tool.description.empty() || format == ToolFormat::Harmony)
        function["description"] = tool.description;
    function["parameters"] = parameters_of(tool);
    return {{"type", "function"}, {"function", std::move(function)}};
}

// The schema of the arguments, which are an object even if the schema does not say so.
std::string schema_of(const OfferedTool& tool) {
    ordered_json schema = parameters_of(tool);
    if (!schema.contains("type")) schema["type"] = "object";
    if (schema["type"] != "object")
        throw ApiError(400, fmt::format("the schema of \"{}\" must be that of an object", tool.place),
                       tool.place);
    std::string text = schema.dump();
    if (tool.strict) return text;
    try {
        check_grammar({GrammarSource::Kind::JsonSchema, text});
        return text;
    } catch (const JobError&) {
        return R"({"type": "object", "additionalProperties": true})";
    }
}

}  // namespace

ChatMessage CalledTools::result(const std::string& id, std::string content) const {
    ChatMessage message{ChatRole::Tool, std::move(content)};
    message.more = {{"tool_call_id", id}};
    if (const auto tool = names_.find(id); tool != names_.end())
        message.more.emplace_back("name", tool->second);
    return message;
}

std::vector<ordered_json> read_objects(FieldReader& fields, std::string_view name) {
    const ordered_json* list = fields.find(name);
    if (!list) return {};
    if (!list->is_array()) fields.fail(name, "must be a list of objects");
    for (const ordered_json& each : *list)
        if (!each.is_object()) fields.fail(name, "must be a list of objects");
    return list->get<std::vector<ordered_json>>();
}

ToolChoice read_tool_choice(FieldReader& fields, bool nested) {
    ToolChoice choice;
    choice.parallel = fields.boolean("parallel_tool_calls").value_or(true);
    const ordered_json* value = fields.find("tool_choice");
    if (!value || *value == "auto") return choice;
    if (*value == "none") {
        choice.kind = ToolChoice::Kind::None;
        return choice;
    }
    choice.kind = ToolChoice::Kind::Required;
    if (*value == "required") return choice;
    if (!value->is_object())
        fields.fail("tool_choice", "must be auto, none, required, or an object that names a function");
    const auto read_name = [&](FieldReader& from) {
        choice.name = from.text("name").value_or("");
        if (choice.name.empty()) from.fail("name", "is missing");
    };
    FieldReader named(*value, "tool_choice.");
    if (named.text("type") != "function") named.fail("type", "must be function");
    if (nested) {
        const ordered_json* function = named.find("function");
        if (!function || !function->is_object()) named.fail("function", "must be an object with a name");
        FieldReader inner(*function, "tool_choice.function.");
        named.finish();
        read_name(inner);
        inner.finish();
    } else {
        read_name(named);
        named.finish();
    }
    return choice;
}

OfferedTool read_tool(FieldReader& fields, const std::string& place, std::string_view schema) {
    OfferedTool tool;
    tool.place = place;
    const auto name = fields.text("name");
    if (!name) fields.fail("name", "is missing");
    tool.name = *name;
    tool.description = fields.text("description").value_or("");
    if (const ordered_json* parameters = fields.find(schema)) {
        if (!parameters->is_object()) fields.fail(schema, "must be a JSON schema");
        tool.parameters = *parameters;
    }
    tool.strict = fields.boolean("strict").value_or(true);
    return tool;
}

void offer_tools(const std::vector<OfferedTool>& tools, const ToolChoice& choice, const ServedModel& model,
                 ChatRequest& request) {
    check_tools(tools, choice);
    if (tools.empty() || choice.kind == ToolChoice::Kind::None) return;
    check_model_takes_tools(model);
    GenerationFields& fields = request.fields;
    if (fields.settings.grammar)
        throw ApiError(400, fmt::format("\"tools\" and \"{}\" exclude each other", fields.form_field),
                       "tools");
    ToolGrammar grammar{*model.tool_format, choice.kind == ToolChoice::Kind::Required, choice.parallel, {}};
    jinja::Values rendered;
    for (const OfferedTool& tool : tools) {
        rendered.push_back(jinja::value_from_json(rendered_tool(tool, *model.tool_format)));
        if (choice.name.empty() || choice.name == tool.name)
            grammar.tools.push_back({tool.name, schema_of(tool)});
    }
    request.options.tools = jinja::Value::list(std::move(rendered));
    request.tool_format = model.tool_format;
    fields.settings.grammar = tool_grammar_source(grammar);
    fields.form_field = "tools";
}

void read_chat_tools(FieldReader& fields, const ServedModel& model, ChatRequest& request) {
    std::vector<OfferedTool> tools;
    for (const ordered_json& each : read_objects(fields, "tools")) {
        const std::string place = fmt::format("tools[{}]", tools.size());
        FieldReader tool(each, place + ".");
        if (tool.text("type") != "function") tool.fail("type", "must be function");
        const ordered_json* function = tool.find("function");
        if (!function || !function->is_object()) tool.fail("function", "must be an object");
        tool.finish();
        FieldReader inner(*function, place + ".function.");
        tools.push_back(read_tool(inner, place + ".function", "parameters"));
        inner.finish();
    }
    offer_tools(tools, read_tool_choice(fields, true), model, request);
}

}  // namespace voltpile::llm
