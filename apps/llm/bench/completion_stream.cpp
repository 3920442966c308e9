#include "llm/bench/completion_stream.h"

#include <nlohmann/json.hpp>

namespace voltpile::llm {
namespace {

using nlohmann::json;

constexpr std::size_t quoted_bytes = 200;  // of an answer that nobody understands

std::string beginning_of(std::string_view text) {
    if (text.empty()) return "an empty answer";
    return std::string(text.substr(0, quoted_bytes)) + (text.size() > quoted_bytes ? "..." : "");
}

// Returns the message in {"error": {"message": "..."}}; empty if there is none.
std::string error_message(const json& answer) {
    if (!answer.is_object()) return {};
    const auto error = answer.find("error");
    if (error == answer.end() || !error->is_object()) return {};
    const auto message = error->find("message");
    return message != error->end() && message->is_string() ? message->get<std::string>() : "an error";
}

std::int64_t count_of(const json& usage, const char* name) {
    const auto found = usage.find(name);
    return found != usage.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

}  // namespace

bool CompletionStream::push(std::string_view bytes) {
    bool has_text = false;
    while (!bytes.empty() && error_.empty()) {
        const std::size_t end = bytes.find('\n');
        if (end == std::string_view::npos) {
            line_ += bytes;
            break;
        }
        if (line_.empty()) {
            has_text = take_line(bytes.substr(0, end)) || has_text;
        } else {
            line_ += bytes.substr(0, end);
            has_text = take_line(line_) || has_text;
            line_.clear();
        }
        bytes.remove_prefix(end + 1);
    }
    return has_text;
}

bool CompletionStream::take_line(std::string_view line) {
    constexpr std::string_view field = "data:";
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with(field)) return false;  // a comment, another field, or the end of an event
    line.remove_prefix(field.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (line == "[DONE]") {
        done_ = true;
        return false;
    }
    return take_event(line);
}

bool CompletionStream::take_event(std::string_view data) {
    const json event = json::parse(data, nullptr, false);
    if (std::string message = error_message(event); !message.empty()) {
        error_ = std::move(message);
        return false;
    }
    const auto choices = event.is_object() ? event.find("choices") : event.end();
    if (!event.is_object() || choices == event.end() || !choices->is_array()) {
        error_ = "an event is not part of a completion: " + beginning_of(data);
        return false;
    }
    if (const auto usage = event.find("usage"); usage != event.end() && usage->is_object()) {
        prompt_tokens_ = count_of(*usage, "prompt_tokens");
        tokens_ = count_of(*usage, "completion_tokens");
    }
    if (choices->empty() || !choices->front().is_object()) return false;
    const auto text = choices->front().find("text");
    if (text == choices->front().end() || !text->is_string()) return false;
    const auto& piece = text->get_ref<const std::string&>();
    text_ += piece;
    return !piece.empty();
}

std::string message_of_error(std::string_view body) {
    std::string message = error_message(json::parse(body, nullptr, false));
    return message.empty() ? beginning_of(body) : message;
}

}  // namespace voltpile::llm
