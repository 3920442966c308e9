#include <fmt/format.h>

#include "llm/chat/chat_json.h"
#include "llm/chat/jinja/json_value.h"
#include "llm/engine/request_fields.h"
#include "llm/serve/messages_api.h"
#include "llm/serve/tools_request.h"

namespace voltpile::llm {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t most_stop_sequences = 64;

// Reads the messages one after the other. Results of tools are messages of their own in templates.
class AnthropicMessages {
  public:
    explicit AnthropicMessages(std::vector<ChatMessage>& to) : to_(to) {}

    void read(const ordered_json& value, std::size_t number) {
        const std::string path = fmt::format("messages[{}].", number);
        FieldReader fields(value, path);
        const auto role = fields.text("role");
        if (role != "user" && role != "assistant") fields.fail("role", "must be user or assistant");
        const bool user = role == "user";
        const ordered_json* content = fields.find("content");
        if (!content) fields.fail("content", "is missing");
        if (content->is_array())
            read_blocks(*content, path + "content", user);
        else
            to_.push_back({user ? ChatRole::User : ChatRole::Assistant,
                           read_content(fields, path, "content", {"text"})});
        fields.finish();
    }

  private:
    void read_blocks(const ordered_json& blocks, const std::string& path, bool user) {
        ordered_json texts = ordered_json::array();
        jinja::Values calls;
        std::string thought;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const std::string place = fmt::format("{}[{}]", path, i);
            if (!blocks[i].is_object())
                throw ApiError(400, fmt::format("\"{}\" must be an object", place), place);
            FieldReader block(blocks[i], place + ".");
            const std::string type = block.text("type").value_or("");
            block.ignore({"cache_control"});
            if (type == "thinking" && !user) {
                thought += block.text("thinking").value_or("");
                block.ignore({"signature"});
            } else if (type == "tool_use" && !user) {
                calls.push_back(read_call(block));
            } else if (type == "tool_result" && user) {
                read_result(block, place + ".");
            } else if (type == "text") {
                const auto text = block.text("text");
                if (!text) block.fail("text", "is missing");
                texts.push_back({{"type", "text"}, {"text", *text}});
                block.ignore({"citations"});
            } else {
                block.fail("type",
                           user ? "must be text or tool_result" : "must be text, thinking or tool_use");
            }
            block.finish();
        }
        if (texts.empty() && user) return;
        ChatMessage message{user ? ChatRole::User : ChatRole::Assistant, {}};
        if (!texts.empty()) message.content = text_of_content(texts, path, {"text"});
        if (!thought.empty()) message.more.emplace_back("reasoning_content", thought);
        if (!calls.empty()) message.more.emplace_back("tool_calls", jinja::Value::list(std::move(calls)));
        to_.push_back(std::move(message));
    }

    jinja::Value read_call(FieldReader& block) {
        const auto id = block.text("id"), name = block.text("name");
        if (!id) block.fail("id", "is missing");
        if (!name) block.fail("name", "is missing");
        const ordered_json* input = block.find("input");
        if (!input || !input->is_object()) block.fail("input", "must be an object");
        called_.add(*id, *name);
        return tool_call_value(*id, *name, *input);
    }

    void read_result(FieldReader& block, const std::string& path) {
        const auto id = block.text("tool_use_id");
        if (!id) block.fail("tool_use_id", "is missing");
        const bool has_content = block.find("content") != nullptr;
        to_.push_back(called_.result(
            *id, has_content ? read_content(block, path, "content", {"text"}) : std::string()));
        block.boolean("is_error");  // the content says what went wrong
    }

    std::vector<ChatMessage>& to_;
    CalledTools called_;
};

ToolChoice read_anthropic_choice(FieldReader& fields) {
    ToolChoice choice;
    const ordered_json* value = fields.find("tool_choice");
    if (!value) return choice;
    if (!value->is_object()) fields.fail("tool_choice", "must be an object");
    FieldReader inner(*value, "tool_choice.");
    const std::string type = inner.text("type").value_or("");
    if (type == "none")
        choice.kind = ToolChoice::Kind::None;
    else if (type == "any" || type == "tool")
        choice.kind = ToolChoice::Kind::Required;
    else if (type != "auto")
        inner.fail("type", "must be auto, any, tool or none");
    if (type == "tool") {
        choice.name = inner.text("name").value_or("");
        if (choice.name.empty()) inner.fail("name", "is missing");
    }
    choice.parallel = !inner.boolean("disable_parallel_tool_use").value_or(false);
    inner.finish();
    return choice;
}

void read_anthropic_tools(FieldReader& fields, const ServedModel& model, ChatRequest& request) {
    std::vector<OfferedTool> tools;
    for (const ordered_json& each : read_objects(fields, "tools")) {
        const std::string place = fmt::format("tools[{}]", tools.size());
        FieldReader tool(each, place + ".");
        if (const auto type = tool.text("type"); type && type != "custom")
            tool.fail("type", fmt::format("is \"{}\", but this server has no tools of its own", *type));
        tools.push_back(read_tool(tool, place, "input_schema"));
        tool.ignore({"cache_control"});
        tool.finish();
    }
    offer_tools(tools, read_anthropic_choice(fields), model, request);
}

}  // namespace

ChatRequest read_messages_request(std::string_view body, const ServedModel& model, std::uint64_t seed) {
    const ordered_json object = parse_body(body);
    FieldReader fields(object);
    ChatRequest request;
    RequestSettings& settings = request.fields.settings;
    settings.lora = read_model(fields, model);
    settings.sampling = read_sampling_fields(fields);
    settings.sampling.seed = seed;
    if (const ordered_json* system = fields.find("system");
        system && !(system->is_array() && system->empty()))
        request.messages.push_back({ChatRole::System, read_content(fields, "", "system", {"text"})});
    const std::vector<ordered_json> list = read_objects(fields, "messages");
    if (list.empty()) fields.fail("messages", "must be a list of messages");
    AnthropicMessages messages(request.messages);
    for (std::size_t i = 0; i < list.size(); ++i) messages.read(list[i], i);
    const auto most = fields.integer("max_tokens", kLeastNewTokens, kMostNewTokens);
    if (!most) fields.fail("max_tokens", "is missing");
    settings.max_tokens = static_cast<int>(*most);
    settings.stop = fields.texts("stop_sequences", most_stop_sequences);
    request.fields.stream = fields.boolean("stream").value_or(false);
    fields.ignore({"metadata", "service_tier", "cache_control"});
    read_anthropic_tools(fields, model, request);
    fields.only("thinking", {{"type", "disabled"}});
    fields.finish();
    return request;
}

}  // namespace voltpile::llm
