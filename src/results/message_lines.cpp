#include "results/message_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace voltpile {
namespace {

using nlohmann::ordered_json;

// Whether a prompt was a list of messages. A plain prompt could read like one, but hardly by accident.
bool is_message_list(const ordered_json& value) {
    return value.is_array() && !value.empty() && std::ranges::all_of(value, [](const ordered_json& each) {
               return each.is_object() && each.contains("role") &&
                      (each.contains("content") || each.contains("tool_calls"));
           });
}

}  // namespace

void add_messages(ordered_json& line) {
    for (const char* field : {kPromptField, kAnswerField, kErrorField})
        if (!line.contains(field) || !line[field].is_string()) return;
    const auto& prompt = line[kPromptField].get_ref<const std::string&>();
    if (!prompt.starts_with('[')) return;
    ordered_json messages = ordered_json::parse(prompt, nullptr, false);
    if (!is_message_list(messages)) return;
    if (line[kErrorField].get_ref<const std::string&>().empty())
        messages.push_back({{"role", "assistant"}, {"content", line[kAnswerField]}});
    line["messages"] = std::move(messages);
}

}  // namespace voltpile
