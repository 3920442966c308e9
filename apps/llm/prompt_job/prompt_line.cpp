#include "llm/prompt_job/prompt_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/chat/chat_json.h"
#include "llm/engine/request_json.h"
#include "llm/grammar/response_format.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/json_file.h"

namespace voltpile::llm {
namespace {

using json = nlohmann::ordered_json;

void read_id(const json& value, Prompt& prompt) {
    if (!value.is_string() && !value.is_number_integer())
        throw JobError(fmt::format("\"id\" must be a string or a whole number, not {}",
                                   value.is_number() ? value.dump() : value.type_name()));
    prompt.id = value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_form_field(std::string_view name) {
    return std::ranges::find(kFormFields, name) != kFormFields.end();
}

std::vector<std::string_view> other_fields() {
    std::vector<std::string_view> names{"prompt", "messages", "id"};
    names.insert(names.end(), kFormFields.begin(), kFormFields.end());
    return names;
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
    read_request(
        line, prompt.settings,
        [&](const std::string& name, const json& value) { return read_other(name, value, prompt); },
        other_fields());
    if (std::ranges::any_of(line.items(), [](const auto& each) { return is_form_field(each.key()); })) {
        prompt.settings.grammar = grammar_in_request(line);
        if (prompt.settings.grammar) check_grammar(*prompt.settings.grammar);
    }
    if (prompt.settings.grammar && prompt.settings.ignore_end)
        throw JobError(
            "ignore_end and a grammar exclude each other: the grammar decides where the text ends");
    const bool plain = line.contains("prompt"), chat = line.contains("messages");
    if (chat) {
        prompt.messages = messages_from_json(line["messages"]);
        prompt.text = line["messages"].dump();
    }
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
