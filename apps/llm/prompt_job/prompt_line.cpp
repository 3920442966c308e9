#include "llm/prompt_job/prompt_line.h"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "job/nearest.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/duplicate_keys.h"

namespace voltpile::llm {
namespace {

using nlohmann::json;

const std::string& text_of(const json& value, const std::string& name) {
    if (!value.is_string())
        throw JobError(fmt::format("\"{}\" must be a text, not {}", name, value.type_name()));
    return value.get_ref<const std::string&>();
}

std::int64_t integer_of(const json& value, const std::string& name, std::int64_t least, std::int64_t most) {
    const bool fits =
        value.is_number_integer() &&
        (!value.is_number_unsigned() ||
         value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
        throw JobError(fmt::format("\"{}\" must be a whole number from {} to {}", name, least, most));
    return value.get<std::int64_t>();
}

float real_of(const json& value, const std::string& name, double least, double most) {
    if (!value.is_number() || value.get<double>() < least || value.get<double>() > most)
        throw JobError(fmt::format("\"{}\" must be a number from {} to {}", name, least, most));
    return static_cast<float>(value.get<double>());
}

std::vector<std::string> stop_of(const json& value) {
    std::vector<std::string> stop;
    for (const json& each : value.is_array() ? value : json::array({value})) {
        stop.push_back(text_of(each, "stop"));
        if (stop.back().empty()) throw JobError("\"stop\" has an empty text, which is everywhere");
    }
    return stop;
}

ChatMessage message_of(const json& value) {
    static const std::map<std::string, ChatRole> roles{
        {"system", ChatRole::System}, {"user", ChatRole::User}, {"assistant", ChatRole::Assistant}};
    if (!value.is_object()) throw JobError("\"messages\" must be objects with \"role\" and \"content\"");
    for (const auto& [key, unused] : value.items())
        if (key != "role" && key != "content")
            throw JobError(fmt::format("a message has \"{}\", which is not known", key));
    for (const char* key : {"role", "content"})
        if (!value.contains(key)) throw JobError(fmt::format("a message has no \"{}\"", key));
    const auto role = roles.find(text_of(value["role"], "role"));
    if (role == roles.end())
        throw JobError("\"role\" must be one of system, user, assistant, not " + value["role"].dump());
    return {role->second, text_of(value["content"], "content")};
}

void read_messages(const json& value, Prompt& prompt) {
    if (!value.is_array() || value.empty()) throw JobError("\"messages\" must be a list of messages");
    for (const json& each : value) prompt.messages.push_back(message_of(each));
    prompt.text = value.dump();
}

void read_id(const json& value, Prompt& prompt) {
    if (!value.is_string() && !value.is_number_integer())
        throw JobError(fmt::format("\"id\" must be a text or a whole number, not {}",
                                   value.is_number() ? value.dump() : value.type_name()));
    prompt.id = value.is_string() ? value.get<std::string>() : value.dump();
}

using Read = std::function<void(const json&, Prompt&)>;

const std::map<std::string, Read>& fields() {
    static const std::map<std::string, Read> all{
        {"prompt", [](const json& v, Prompt& p) { p.text = text_of(v, "prompt"); }},
        {"messages", read_messages},
        {"id", read_id},
        {"max_tokens",
         [](const json& v, Prompt& p) {
             p.settings.max_tokens = static_cast<int>(integer_of(v, "max_tokens", 1, 1 << 24));
         }},
        {"temperature",
         [](const json& v, Prompt& p) {
             p.settings.sampling.temperature = real_of(v, "temperature", 0, 100);
         }},
        {"top_k",
         [](const json& v, Prompt& p) {
             p.settings.sampling.top_k = static_cast<int>(integer_of(v, "top_k", 0, 1 << 24));
         }},
        {"top_p", [](const json& v, Prompt& p) { p.settings.sampling.top_p = real_of(v, "top_p", 0, 1); }},
        {"min_p", [](const json& v, Prompt& p) { p.settings.sampling.min_p = real_of(v, "min_p", 0, 1); }},
        {"repetition_penalty",
         [](const json& v, Prompt& p) {
             p.settings.sampling.repetition_penalty = real_of(v, "repetition_penalty", 0.01, 100);
         }},
        {"presence_penalty",
         [](const json& v, Prompt& p) {
             p.settings.sampling.presence_penalty = real_of(v, "presence_penalty", -100, 100);
         }},
        {"frequency_penalty",
         [](const json& v, Prompt& p) {
             p.settings.sampling.frequency_penalty = real_of(v, "frequency_penalty", -100, 100);
         }},
        {"seed",
         [](const json& v, Prompt& p) {
             p.settings.sampling.seed = static_cast<std::uint64_t>(
                 integer_of(v, "seed", 0, std::numeric_limits<std::int64_t>::max()));
         }},
        {"stop", [](const json& v, Prompt& p) { p.settings.stop = stop_of(v); }},
    };
    return all;
}

std::string unknown_field(const std::string& key) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : fields()) names.push_back(name);
    return fmt::format("unknown field \"{}\"{}", key, did_you_mean(nearest_word(key, names)));
}

void read_fields(const std::string& text, Prompt& prompt) {
    DuplicateKeys duplicates;
    const json line = json::parse(text, [&](int, json::parse_event_t event, const json& parsed) {
        duplicates.hear(event, parsed);
        return true;
    });
    if (!line.is_object()) throw JobError("a line must be a JSON object, such as {\"prompt\": \"...\"}");
    if (line.contains("id")) read_id(line["id"], prompt);  // first: what else is wrong is of this id
    if (const auto& key = duplicates.first())
        throw JobError(fmt::format("\"{}\" occurs twice", printable(*key)));
    for (const auto& [key, value] : line.items()) {
        const auto field = fields().find(key);
        if (field == fields().end()) throw JobError(unknown_field(key));
        field->second(value, prompt);
    }
    const bool plain = line.contains("prompt"), chat = line.contains("messages");
    if (plain == chat)
        throw JobError(plain ? "\"prompt\" and \"messages\" exclude each other"
                             : "neither \"prompt\" nor \"messages\"");
    if (plain && prompt.text.empty()) throw JobError("the prompt is empty");
}

}  // namespace

Prompt parse_json_line(const std::string& line, const PromptSettings& settings) {
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

Prompt parse_text_line(const std::string& line, const PromptSettings& settings) {
    Prompt prompt;
    prompt.settings = settings;
    prompt.text = line;
    return prompt;
}

}  // namespace voltpile::llm
