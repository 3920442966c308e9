#include "llm/chat/chat_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/chat/jinja/json_value.h"

namespace voltpile::llm {

namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 8> kFields = {"tool_calls",        "tool_call_id", "name",
                                                     "reasoning_content", "thinking",     "reasoning",
                                                     "refusal",           "annotations"};

constexpr std::array kRoles = {ChatRole::System, ChatRole::Developer, ChatRole::User, ChatRole::Assistant,
                               ChatRole::Tool};

ChatRole role_of(const ordered_json& value) {
    std::vector<std::string_view> names;
    for (const ChatRole role : kRoles) {
        if (value.is_string() && value.get_ref<const std::string&>() == name(role)) return role;
        names.push_back(name(role));
    }
    throw JobError(fmt::format("\"role\" must be one of {}, not {}", fmt::join(names, ", "),
                               value.dump(-1, ' ', false, ordered_json::error_handler_t::replace)));
}

// Most templates take only a text, so parts become one, with line breaks between them.
jinja::Value content_of(const ordered_json& content, bool may_be_null) {
    if (content.is_string()) return content.get_ref<const std::string&>();
    if (content.is_null() && may_be_null) return {};
    if (!content.is_array())
        throw JobError(
            fmt::format("\"content\" must be a text or a list of parts, not {}", content.type_name()));
    std::vector<std::string> texts;
    for (const ordered_json& part : content) {
        const bool is_text = part.is_object() && part.value("type", ordered_json()) == "text" &&
                             part.contains("text") && part["text"].is_string();
        if (!is_text) throw JobError("a part of \"content\" must be of the type \"text\" and have a text");
        texts.push_back(part["text"]);
    }
    return fmt::format("{}", fmt::join(texts, "\n"));
}

// OpenAI's API writes the arguments of a call as a text with JSON in it.
void read_tool_calls(ordered_json& calls) {
    if (!calls.is_array()) throw JobError("\"tool_calls\" must be a list");
    for (ordered_json& call : calls) {
        if (!call.is_object()) throw JobError("\"tool_calls\" must be a list of objects");
        ordered_json& function = call.contains("function") ? call["function"] : call;
        if (!function.is_object() || !function.contains("name") || !function["name"].is_string())
            throw JobError("a call in \"tool_calls\" must have a function with a name");
        if (!function.contains("arguments") || !function["arguments"].is_string()) continue;
        ordered_json arguments =
            ordered_json::parse(function["arguments"].get_ref<const std::string&>(), nullptr, false);
        if (arguments.is_object()) function["arguments"] = std::move(arguments);
    }
}

}  // namespace

ChatMessage message_from_json(const ordered_json& json) {
    if (!json.is_object()) throw JobError("a message must be an object with \"role\" and \"content\"");
    if (!json.contains("role")) throw JobError("a message has no \"role\"");
    ChatMessage message{role_of(json["role"]), {}};
    const bool calls = json.contains("tool_calls") && !json["tool_calls"].is_null();
    if (!json.contains("content") && !calls) throw JobError("a message has no \"content\"");
    for (const auto& [key, value] : json.items()) {
        if (key == "content") message.content = content_of(value, calls);
        if (key == "role" || key == "content" || value.is_null()) continue;
        if (std::ranges::find(kFields, key) == kFields.end())
            throw JobError(fmt::format("a message has the unknown field \"{}\"", key));
        ordered_json read = value;
        if (key == "tool_calls") read_tool_calls(read);
        message.more.emplace_back(key, jinja::value_from_json(read));
    }
    return message;
}

}  // namespace voltpile::llm
