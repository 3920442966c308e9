#include <fmt/format.h>

#include <map>
#include <utility>

#include "llm/chat/chat_json.h"
#include "llm/chat/jinja/json_value.h"
#include "llm/engine/request_fields.h"
#include "llm/grammar/response_format.h"
#include "llm/serve/responses_api.h"
#include "llm/serve/tools_request.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

// Reads the items of "input" one after the other. Calls are items of their own here, but members of the
// assistant's message in templates.
class InputItems {
  public:
    explicit InputItems(std::vector<ChatMessage>& to) : to_(to) {}

    void read(const ordered_json& value, std::size_t number) {
        const std::string path = fmt::format("input[{}].", number);
        FieldReader fields(value, path);
        const std::string type = fields.text("type").value_or("message");
        fields.ignore({"id", "status"});
        if (type == "message")
            read_message(fields, path);
        else if (type == "function_call")
            read_call(fields);
        else if (type == "function_call_output")
            read_output(fields, path);
        else if (type == "reasoning")
            read_thought(fields, path);
        else
            fields.fail("type", "must be message, reasoning, function_call or function_call_output");
        fields.finish();
    }

  private:
    void read_message(FieldReader& fields, const std::string& path) {
        static const std::map<std::string, ChatRole> roles{{"system", ChatRole::System},
                                                           {"developer", ChatRole::Developer},
                                                           {"user", ChatRole::User},
                                                           {"assistant", ChatRole::Assistant}};
        const auto role = roles.find(fields.text("role").value_or(""));
        if (role == roles.end()) fields.fail("role", "must be one of system, developer, user, assistant");
        to_.push_back({role->second, read_content(fields, path, "content", {"input_text", "output_text"})});
        if (role->second == ChatRole::Assistant) add_thought();
    }

    // Thoughts are a member of the assistant's message, which comes next.
    void read_thought(FieldReader& fields, const std::string& path) {
        fields.ignore({"summary", "encrypted_content"});
        if (fields.find("content")) thought_ = read_content(fields, path, "content", {"reasoning_text"});
    }

    void add_thought() {
        if (!thought_.empty()) to_.back().more.emplace_back("reasoning_content", std::exchange(thought_, {}));
    }

    void read_call(FieldReader& fields) {
        const auto id = fields.text("call_id"), name = fields.text("name"),
                   arguments = fields.text("arguments");
        if (!id) fields.fail("call_id", "is missing");
        if (!name) fields.fail("name", "is missing");
        if (!arguments) fields.fail("arguments", "is missing");
        called_.add(*id, *name);
        if (to_.empty() || to_.back().role != ChatRole::Assistant || !thought_.empty())
            to_.push_back({ChatRole::Assistant, {}});
        add_thought();
        jinja::Entries& more = to_.back().more;
        const jinja::Value* known = jinja::find(more, "tool_calls");
        jinja::Values calls = known ? known->items() : jinja::Values();
        calls.push_back(tool_call_value(*id, *name, *arguments));
        std::erase_if(more, [](const auto& each) { return each.first.text() == "tool_calls"; });
        more.emplace_back("tool_calls", jinja::Value::list(std::move(calls)));
    }

    void read_output(FieldReader& fields, const std::string& path) {
        const auto id = fields.text("call_id");
        if (!id) fields.fail("call_id", "is missing");
        to_.push_back(
            called_.result(*id, read_content(fields, path, "output", {"input_text", "output_text"})));
    }

    std::vector<ChatMessage>& to_;
    CalledTools called_;
    std::string thought_;  // of the message that comes next
};

void read_input(FieldReader& fields, std::vector<ChatMessage>& messages) {
    if (const auto instructions = fields.text("instructions"))
        messages.push_back({ChatRole::System, *instructions});
    const ordered_json* input = fields.find("input");
    if (!input) fields.fail("input", "is missing");
    if (input->is_string()) return messages.push_back({ChatRole::User, input->get<std::string>()});
    const std::vector<ordered_json> list = read_objects(fields, "input");
    if (list.empty()) fields.fail("input", "must be a text or a list of items");
    InputItems items(messages);
    for (std::size_t i = 0; i < list.size(); ++i) items.read(list[i], i);
}

// "text": {"format": {"type": "json_schema", "name": "...", "schema": {...}}}, whose members are those of
// chat's "json_schema".
void read_text_format(FieldReader& fields, GenerationFields& read) {
    const ordered_json* text = fields.find("text");
    if (!text) return;
    if (!text->is_object()) fields.fail("text", "must be an object");
    FieldReader inner(*text, "text.");
    inner.ignore({"verbosity"});
    const ordered_json* format = inner.find("format");
    inner.finish();
    if (!format) return;
    if (!format->is_object()) inner.fail("format", "must be an object");
    ordered_json wanted{{"type", format->value("type", ordered_json())}};
    if (wanted["type"] == "json_schema") {
        wanted["json_schema"] = *format;
        wanted["json_schema"].erase("type");
    }
    read.form_field = "text.format";
    try {
        read.settings.grammar = grammar_in_request({{"response_format", wanted}});
    } catch (const JobError& error) {
        throw form_error(read.form_field, error);
    }
}

void read_responses_tools(FieldReader& fields, const ServedModel& model, ChatRequest& request) {
    std::vector<OfferedTool> tools;
    for (const ordered_json& each : read_objects(fields, "tools")) {
        const std::string place = fmt::format("tools[{}]", tools.size());
        FieldReader tool(each, place + ".");
        if (tool.text("type") != "function")
            tool.fail("type", "must be function: this server has no tools of its own");
        tools.push_back(read_tool(tool, place, "parameters"));
        tool.finish();
    }
    offer_tools(tools, read_tool_choice(fields, false), model, request);
}

// "reasoning": {"effort": "low", "summary": "auto"}
void read_reasoning(FieldReader& fields, const ServedModel& model, ChatRequest& request) {
    const ordered_json* reasoning = fields.find("reasoning");
    if (!reasoning) return;
    if (!reasoning->is_object()) fields.fail("reasoning", "must be an object");
    FieldReader inner(*reasoning, "reasoning.");
    read_effort(inner, "effort", model, request);
    inner.ignore({"summary", "generate_summary"});
    inner.finish();
}

void refuse_unsupported(FieldReader& fields) {
    fields.ignore({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
                   "prompt_cache_retention", "stream_options"});
    fields.only("previous_response_id", nullptr);
    fields.only("conversation", nullptr);
    fields.only("prompt", nullptr);
    fields.only("background", false);
    fields.only("include", ordered_json::array());
    fields.only("truncation", "disabled");
}

// The members of the response that repeat the request, as JSON without braces.
std::string repeated_settings(const ordered_json& request) {
    const auto member = [&](const char* name, const ordered_json& missing) {
        const auto found = request.find(name);
        return found == request.end() || found->is_null() ? missing : *found;
    };
    ordered_json text = member("text", ordered_json::object());
    if (!text.contains("format")) text["format"] = {{"type", "text"}};
    const ordered_json settings{{"instructions", member("instructions", nullptr)},
                                {"max_output_tokens", member("max_output_tokens", nullptr)},
                                {"metadata", member("metadata", ordered_json::object())},
                                {"parallel_tool_calls", member("parallel_tool_calls", true)},
                                {"previous_response_id", nullptr},
                                {"temperature", member("temperature", 1.0)},
                                {"text", text},
                                {"tool_choice", member("tool_choice", "auto")},
                                {"tools", member("tools", ordered_json::array())},
                                {"top_p", member("top_p", 1.0)},
                                {"truncation", "disabled"},
                                {"store", false}};
    const std::string json = settings.dump();
    return json.substr(1, json.size() - 2);
}

}  // namespace

ResponsesRequest read_responses_request(std::string_view body, const ServedModel& model, std::uint64_t seed) {
    const ordered_json object = parse_body(body);
    FieldReader fields(object);
    ResponsesRequest request;
    RequestSettings& settings = request.chat.fields.settings;
    settings.lora = read_model(fields, model);
    settings.sampling = read_sampling_fields(fields);
    settings.sampling.seed = seed;
    read_input(fields, request.chat.messages);
    const auto most = fields.integer("max_output_tokens", kLeastNewTokens, kMostNewTokens);
    settings.max_tokens = static_cast<int>(most.value_or(0));
    request.chat.fields.stream = fields.boolean("stream").value_or(false);
    read_text_format(fields, request.chat.fields);
    read_responses_tools(fields, model, request.chat);
    read_reasoning(fields, model, request.chat);
    refuse_unsupported(fields);
    fields.finish();
    request.settings = repeated_settings(object);
    return request;
}

}  // namespace voltpile::llm
