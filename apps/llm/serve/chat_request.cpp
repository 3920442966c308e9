#include <fmt/format.h>

#include <map>

#include "llm/engine/request_fields.h"
#include "llm/serve/completion_request.h"
#include "llm/serve/text_parts.h"

namespace voltpile::llm {
namespace {

ChatMessage chat_message_of(const nlohmann::json& value, std::size_t number) {
    static const std::map<std::string, ChatRole> roles{{"system", ChatRole::System},
                                                       {"developer", ChatRole::System},
                                                       {"user", ChatRole::User},
                                                       {"assistant", ChatRole::Assistant}};
    const std::string path = fmt::format("messages[{}].", number);
    FieldReader fields(value, path);
    const auto name = fields.text("role");
    if (!name) fields.fail("role", "is missing");
    const auto role = roles.find(*name);
    if (role == roles.end())
        fields.fail("role",
                    fmt::format("must be one of system, developer, user, assistant, not \"{}\"", *name));
    ChatMessage message{role->second, text_of_parts(fields, "content", path, {"text"})};
    fields.only("name", nullptr);
    fields.only("refusal", nullptr);
    fields.only("tool_calls", nlohmann::json::array());
    fields.only("annotations", nlohmann::json::array());
    fields.only("reasoning_content", nullptr);
    fields.finish();
    return message;
}

void read_length(FieldReader& fields, RequestSettings& settings) {
    const auto old_name = fields.integer("max_tokens", kLeastNewTokens, kMostNewTokens);
    const auto new_name = fields.integer("max_completion_tokens", kLeastNewTokens, kMostNewTokens);
    if (old_name && new_name && *old_name != *new_name)
        fields.fail("max_tokens", "contradicts \"max_completion_tokens\": send one of them");
    settings.max_tokens = static_cast<int>(new_name.value_or(old_name.value_or(0)));
}

void read_top(FieldReader& fields, GenerationFields& read) {
    read.logprobs = fields.boolean("logprobs").value_or(false);
    const auto top = fields.integer("top_logprobs", 0, kMostTop);
    if (top && *top > 0 && !read.logprobs) fields.fail("top_logprobs", "needs \"logprobs\": true");
    read.settings.top_n = static_cast<int>(top.value_or(0));
}

}  // namespace

std::vector<ChatMessage> read_messages(FieldReader& fields) {
    const nlohmann::json* list = fields.find("messages");
    if (!list) fields.fail("messages", "is missing");
    if (!list->is_array() || list->empty()) fields.fail("messages", "must be a list of messages");
    std::vector<ChatMessage> messages;
    for (const nlohmann::json& each : *list) {
        if (!each.is_object())
            fields.fail("messages", "must be a list of objects with \"role\" and \"content\"");
        messages.push_back(chat_message_of(each, messages.size()));
    }
    return messages;
}

ChatRequest read_chat_request(std::string_view body, const ServedModel& model, std::uint64_t seed) {
    const nlohmann::json object = parse_body(body);
    FieldReader fields(object);
    ChatRequest request;
    request.fields = read_generation_fields(fields, body, model, seed);
    request.messages = read_messages(fields);
    read_length(fields, request.fields.settings);
    read_top(fields, request.fields);
    if (const nlohmann::json* options = fields.find("chat_template_kwargs")) {
        if (!options->is_object()) fields.fail("chat_template_kwargs", "must be an object");
        FieldReader inner(*options, "chat_template_kwargs.");
        if (const auto thinking = inner.boolean("enable_thinking"))
            request.options.arguments.emplace_back("enable_thinking", *thinking);
        inner.finish();
    }
    fields.ignore({"parallel_tool_calls"});
    fields.only("tools", nlohmann::json::array());
    fields.only("tool_choice", "none");
    fields.only("functions", nlohmann::json::array());
    fields.only("function_call", "none");
    fields.only("modalities", nlohmann::json::array({"text"}));
    fields.only("add_generation_prompt", true);
    fields.only("continue_final_message", false);
    fields.only("echo", false);
    fields.finish();
    return request;
}

}  // namespace voltpile::llm
