#include "llm/prompt_job/prompt_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/chat/chat_json.h"
#include "llm/engine/request_json.h"
#include "llm/grammar/response_format.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/json_file.h"

namespace voltpile::llm {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// line: the whole line again, because the first reading loses the order of keys, which templates print.
void read_messages(const std::string& line, Prompt& prompt) {
    const ordered_json value = ordered_json::parse(line)["messages"];
    if (!value.is_array() || value.empty()) throw JobError("\"messages\" must be a list of messages");
    for (const ordered_json& each : value) prompt.messages.push_back(message_from_json(each));
    prompt.text = value.dump();
}

void read_id(const json& value, Prompt& prompt) {
    if (!value.is_string() && !value.is_number_integer())
        throw JobError(fmt::format("\"id\" must be a string or a whole number, not {}",
                                   value.is_number() ? value.dump() : value.type_name()));
    prompt.id = value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_form_field(std::string_view name) {
    return name == "response_format" || name == "regex" || name == "grammar";
}

// Reads what a line has beside the fields of a request.
bool read_other(const std::string& name, const json& value, Prompt& prompt) {
    if (name == "prompt")
        prompt.text = text_field(name, value);
    else if (name == "top_n" || name == "top_logprobs")
        throw JobError(fmt::format("\"{}\" is the same for all prompts: set generate.top_n", name));
    else
        return name == "id" || name == "messages" || is_form_field(name);  // read_fields() reads them
    return true;
}

void read_fields(const std::string& text, Prompt& prompt) {
    std::optional<std::string> duplicate;
    const json line =
        parse_checked_json(text, [&](const JsonProgress& progress) { duplicate = progress.duplicate; });
    if (!line.is_object()) throw JobError("a line must be a JSON object, such as {\"prompt\": \"...\"}");
    if (line.contains("id")) read_id(line["id"], prompt);  // first: what else is wrong is of this id
    if (duplicate) throw JobError(fmt::format("\"{}\" occurs twice", printable(*duplicate)));
    constexpr std::array<std::string_view, 6> others{"prompt",          "messages", "id",
                                                     "response_format", "regex",    "grammar"};
    read_request(
        line, prompt.settings,
        [&](const std::string& name, const json& value) { return read_other(name, value, prompt); }, others);
    if (std::ranges::any_of(line.items(), [](const auto& each) { return is_form_field(each.key()); })) {
        prompt.settings.grammar = grammar_in_request(text);
        if (prompt.settings.grammar) check_grammar(*prompt.settings.grammar);
    }
    const bool plain = line.contains("prompt"), chat = line.contains("messages");
    if (chat) read_messages(text, prompt);
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
