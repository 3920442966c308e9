#include "llm/prompt_job/prompt_line.h"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "job/nearest.h"
#include "llm/engine/sampling_fields.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/json_file.h"

namespace voltpile::llm {
namespace {

using nlohmann::json;

const std::string& text_of(const json& value, const std::string& name) {
    if (!value.is_string())
        throw JobError(fmt::format("\"{}\" must be a string, not {}", name, value.type_name()));
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

double real_of(const json& value, const std::string& name, double least, double most) {
    if (!value.is_number() || value.get<double>() < least || value.get<double>() > most)
        throw JobError(fmt::format("\"{}\" must be a number from {} to {}", name, least, most));
    return value.get<double>();
}

std::vector<std::string> stop_of(const json& value) {
    std::vector<std::string> stop;
    for (const json& each : value.is_array() ? value : json::array({value})) {
        stop.push_back(text_of(each, "stop"));
        if (stop.back().empty()) throw JobError("\"stop\" has an empty string, which would match everywhere");
    }
    return stop;
}

ChatMessage message_of(const json& value) {
    static const std::map<std::string, ChatRole> roles{
        {"system", ChatRole::System}, {"user", ChatRole::User}, {"assistant", ChatRole::Assistant}};
    if (!value.is_object()) throw JobError("\"messages\" must be objects with \"role\" and \"content\"");
    for (const auto& [key, unused] : value.items())
        if (key != "role" && key != "content")
            throw JobError(fmt::format("a message has the unknown field \"{}\"", key));
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
        throw JobError(fmt::format("\"id\" must be a string or a whole number, not {}",
                                   value.is_number() ? value.dump() : value.type_name()));
    prompt.id = value.is_string() ? value.get<std::string>() : value.dump();
}

using Read = std::function<void(const json&, Prompt&)>;

void read_sampling_field(const SamplingField& field, const json& value, SamplingSettings& sampling) {
    const std::string name(field.name);
    if (field.is_integer())
        field.set(sampling,
                  static_cast<double>(integer_of(value, name, static_cast<std::int64_t>(field.least),
                                                 static_cast<std::int64_t>(field.most))));
    else
        field.set(sampling, real_of(value, name, field.least, field.most));
}

std::map<std::string, Read> make_fields() {
    std::map<std::string, Read> all{
        {"prompt", [](const json& v, Prompt& p) { p.text = text_of(v, "prompt"); }},
        {"messages", read_messages},
        {"id", read_id},
        {"max_tokens",
         [](const json& v, Prompt& p) {
             p.settings.max_tokens =
                 static_cast<int>(integer_of(v, "max_tokens", kLeastNewTokens, kMostNewTokens));
         }},
        {"seed",
         [](const json& v, Prompt& p) {
             p.settings.sampling.seed = static_cast<std::uint64_t>(
                 integer_of(v, "seed", 0, std::numeric_limits<std::int64_t>::max()));
         }},
        {"stop", [](const json& v, Prompt& p) { p.settings.stop = stop_of(v); }},
    };
    for (const SamplingField& field : kSamplingFields)
        all.emplace(field.name, [&field](const json& v, Prompt& p) {
            read_sampling_field(field, v, p.settings.sampling);
        });
    return all;
}

const std::map<std::string, Read>& fields() {
    static const std::map<std::string, Read> all = make_fields();
    return all;
}

std::string unknown_field(const std::string& key) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : fields()) names.push_back(name);
    return fmt::format("unknown field \"{}\"{}", key, did_you_mean(nearest_word(key, names)));
}

void read_fields(const std::string& text, Prompt& prompt) {
    std::optional<std::string> duplicate;
    const json line =
        parse_checked_json(text, [&](const JsonProgress& progress) { duplicate = progress.duplicate; });
    if (!line.is_object()) throw JobError("a line must be a JSON object, such as {\"prompt\": \"...\"}");
    if (line.contains("id")) read_id(line["id"], prompt);  // first: what else is wrong is of this id
    if (duplicate) throw JobError(fmt::format("\"{}\" occurs twice", printable(*duplicate)));
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
