#include "llm/prompt_job/prompt_line.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/engine/request_json.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/json_file.h"

namespace voltpile::llm {
namespace {

using nlohmann::json;

ChatMessage message_of(const json& value) {
    static const std::map<std::string, ChatRole> roles{
        {"system", ChatRole::System}, {"user", ChatRole::User}, {"assistant", ChatRole::Assistant}};
    if (!value.is_object()) throw JobError("\"messages\" must be objects with \"role\" and \"content\"");
    for (const auto& [key, unused] : value.items())
        if (key != "role" && key != "content")
            throw JobError(fmt::format("a message has the unknown field \"{}\"", key));
    for (const char* key : {"role", "content"})
        if (!value.contains(key)) throw JobError(fmt::format("a message has no \"{}\"", key));
    const auto role = roles.find(text_field("role", value["role"]));
    if (role == roles.end())
        throw JobError("\"role\" must be one of system, user, assistant, not " + value["role"].dump());
    return {role->second, text_field("content", value["content"])};
}

void read_messages(const json& value, Prompt& prompt) {
    if (!value.is_array() || value.empty()) throw JobError("\"messages\" must be a list of messages");
    for (const json& each : value) prompt.messages.push_back(message_of(each));
    prompt.text = value.dump();
}

void read_id(const json& value, Prompt& prompt) {
    if (!value.is_string() && !value.is_number_integer())
        throw JobError(fmt::format("\"id\" must be a string or a whole number, not {}",
                                   value.is_number() ? value.dump() : value.type_name()));
    prompt.id = value.is_string() ? value.get<std::string>() : value.dump();
}

// Reads what a line has beside the fields of a request.
bool read_other(const std::string& name, const json& value, Prompt& prompt) {
    if (name == "prompt")
        prompt.text = text_field(name, value);
    else if (name == "messages")
        read_messages(value, prompt);
    else if (name == "top_n" || name == "top_logprobs")
        throw JobError(fmt::format("\"{}\" is the same for all prompts: set generate.top_n", name));
    else
        return name == "id";  // already read
    return true;
}

void read_fields(const std::string& text, Prompt& prompt) {
    std::optional<std::string> duplicate;
    const json line =
        parse_checked_json(text, [&](const JsonProgress& progress) { duplicate = progress.duplicate; });
    if (!line.is_object()) throw JobError("a line must be a JSON object, such as {\"prompt\": \"...\"}");
    if (line.contains("id")) read_id(line["id"], prompt);  // first: what else is wrong is of this id
    if (duplicate) throw JobError(fmt::format("\"{}\" occurs twice", printable(*duplicate)));
    constexpr std::array<std::string_view, 3> others{"prompt", "messages", "id"};
    read_request(
        line, prompt.settings,
        [&](const std::string& name, const json& value) { return read_other(name, value, prompt); }, others);
    const bool plain = line.contains("prompt"), chat = line.contains("messages");
    if (plain == chat)
        throw JobError(plain ? "\"prompt\" and \"messages\" exclude each other"
                             : "neither \"prompt\" nor \"messages\"");
    if (plain && prompt.text.empty()) throw JobError("the prompt is empty");
}

}  // namespace

Prompt parse_json_line(const std::string& line, const RequestSettings& settings) {
    Prompt prompt;
    prompt.settings = settings;
    try {
        read_fields(line, prompt);
    } catch (const json::parse_error& error) {
        prompt.error = fmt::format("not valid JSON at byte {}", error.byte);
    } catch (const json::exception&) {
        prompt.error = "not valid JSON: a number is too large";
    } catch (const JobError& error) {
        prompt.error = error.what();
    }
    return prompt;
}

Prompt parse_text_line(const std::string& line, const RequestSettings& settings) {
    Prompt prompt;
    prompt.settings = settings;
    prompt.text = line;
    return prompt;
}

}  // namespace voltpile::llm
