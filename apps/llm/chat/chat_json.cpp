#include "llm/chat/chat_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "job/nearest.h"
#include "llm/chat/jinja/json_value.h"

namespace voltpile::llm {

namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 10> kFields = {
    "role",      "content",  "tool_calls", "tool_call_id", "name", "reasoning_content",
    "reasoning", "thinking", "refusal",    "annotations"};

constexpr std::array kRoles = {ChatRole::System, ChatRole::Developer, ChatRole::User, ChatRole::Assistant,
                               ChatRole::Tool};

std::string shown_json(const ordered_json& value) {
    std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    constexpr std::size_t most = 60;  // bytes
    return text.size() <= most ? text : std::string(value.type_name());
}

ChatRole role_of(const ordered_json& value, const std::string& place) {
    std::vector<std::string_view> names;
    for (const ChatRole role : kRoles) {
        if (value.is_string() && value.get_ref<const std::string&>() == name(role)) return role;
        names.push_back(name(role));
    }
    throw ChatJsonError(place,
                        fmt::format("must be one of {}, not {}", fmt::join(names, ", "), shown_json(value)));
}

// Returns a member that is not null, or nullptr.
const ordered_json* member_of(const ordered_json& object, std::string_view key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

const std::string& text_at(const ordered_json& value, const std::string& place) {
    if (!value.is_string())
        throw ChatJsonError(place, fmt::format("must be a text, not {}", shown_json(value)));
    return value.get_ref<const std::string&>();
}

jinja::Value tool_calls_of(const ordered_json& calls, const std::string& place) {
    if (!calls.is_array()) throw ChatJsonError(place, "must be a list of calls");
    jinja::Values values;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::string at = fmt::format("{}[{}]", place, i);
        const ordered_json& call = calls[i];
        if (!call.is_object()) throw ChatJsonError(at, "must be an object");
        const ordered_json* type = member_of(call, "type");
        if (type && *type != "function") throw ChatJsonError(at + ".type", "must be function");
        const bool nested = call.contains("function");
        const ordered_json& function = nested ? call["function"] : call;
        const std::string of_function = nested ? at + ".function" : at;
        if (!function.is_object()) throw ChatJsonError(of_function, "must be an object");
        const ordered_json* called = member_of(function, "name");
        if (!called) throw ChatJsonError(of_function + ".name", "is missing");
        const ordered_json* id = member_of(call, "id");
        const ordered_json* arguments = member_of(function, "arguments");
        if (arguments && !arguments->is_object() && !arguments->is_string())
            throw ChatJsonError(of_function + ".arguments", "must be an object, or a text with one in it");
        values.push_back(tool_call_value(id ? text_at(*id, at + ".id") : std::string(),
                                         text_at(*called, of_function + ".name"),
                                         arguments ? *arguments : ordered_json::object()));
    }
    return jinja::Value::list(std::move(values));
}

ChatMessage message_from_json(const ordered_json& json, const std::string& place) {
    if (!json.is_object()) throw ChatJsonError(place, "must be an object with \"role\" and \"content\"");
    const ordered_json* role = member_of(json, "role");
    if (!role) throw ChatJsonError(place + ".role", "is missing");
    ChatMessage message{role_of(*role, place + ".role"), {}};
    const bool calls = message.role == ChatRole::Assistant && member_of(json, "tool_calls") != nullptr;
    if (const ordered_json* content = member_of(json, "content"))
        message.content = text_of_content(*content, place + ".content", {"text"});
    else if (!calls)
        throw ChatJsonError(place + ".content", "is missing");
    for (const auto& [key, value] : json.items()) {
        const std::string at = place + "." + key;
        if (std::ranges::find(kFields, key) == kFields.end()) {
            const std::vector<std::string> known(kFields.begin(), kFields.end());
            throw ChatJsonError(at, "is not a known field" + did_you_mean(nearest_word(key, known)));
        }
        if (key == "role" || key == "content" || value.is_null()) continue;
        if (key == "name" || key == "tool_call_id") text_at(value, at);
        message.more.emplace_back(
            key, key == "tool_calls" ? tool_calls_of(value, at) : jinja::value_from_json(value));
    }
    return message;
}

}  // namespace

std::vector<ChatMessage> messages_from_json(const ordered_json& list, const std::string& place) {
    if (!list.is_array() || list.empty())
        throw ChatJsonError(place, "must be a list with at least one message");
    std::vector<ChatMessage> messages;
    for (std::size_t i = 0; i < list.size(); ++i)
        messages.push_back(message_from_json(list[i], fmt::format("{}[{}]", place, i)));
    return messages;
}

std::string text_of_content(const ordered_json& content, const std::string& place,
                            std::initializer_list<std::string_view> types) {
    if (content.is_string()) return content.get_ref<const std::string&>();
    if (!content.is_array())
        throw ChatJsonError(
            place, fmt::format("must be a text or a list of text parts, not {}", shown_json(content)));
    std::vector<std::string_view> texts;
    for (std::size_t i = 0; i < content.size(); ++i) {
        const std::string at = fmt::format("{}[{}]", place, i);
        const ordered_json& part = content[i];
        if (!part.is_object()) throw ChatJsonError(at, "must be an object with \"type\" and \"text\"");
        const ordered_json* type = member_of(part, "type");
        if (!type) throw ChatJsonError(at + ".type", "is missing");
        if (std::ranges::find(types, text_at(*type, at + ".type")) == types.end())
            throw ChatJsonError(at + ".type",
                                fmt::format("is {}, but the model takes text only", shown_json(*type)));
        const ordered_json* text = member_of(part, "text");
        if (!text) throw ChatJsonError(at + ".text", "is missing");
        texts.push_back(text_at(*text, at + ".text"));
    }
    return fmt::format("{}", fmt::join(texts, "\n"));
}

jinja::Value tool_call_value(std::string_view id, std::string_view name, const ordered_json& arguments) {
    ordered_json read = arguments;
    if (arguments.is_string()) {
        const auto& text = arguments.get_ref<const std::string&>();
        ordered_json parsed = ordered_json::parse(text.empty() ? "{}" : text, nullptr, false);
        if (parsed.is_object()) read = std::move(parsed);
    }
    jinja::Entries call;
    if (!id.empty()) call.emplace_back("id", id);
    call.emplace_back("type", "function");
    call.emplace_back("function",
                      jinja::Value::map({{"name", name}, {"arguments", jinja::value_from_json(read)}}));
    return jinja::Value::map(std::move(call));
}

}  // namespace voltpile::llm
