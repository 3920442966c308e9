#include "llm/chat/chat_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "llm/chat/named_templates.h"

namespace voltpile::llm {

namespace {

constexpr std::array kReasoningFields = {"reasoning_content", "thinking", "reasoning"};

// The reasoning of an answer has several names, and each template reads one of them. Like transformers, fills
// those that templates read from the first one that is set.
void add_reasoning(jinja::Entries& fields) {
    for (const char* field : kReasoningFields) {
        const jinja::Value* found = jinja::find(fields, field);
        if (!found || found->is(jinja::Kind::None)) continue;
        const jinja::Value reasoning = *found;
        std::erase_if(fields, [](const auto& each) { return each.first.text() == kReasoningFields[0]; });
        if (!jinja::find(fields, "thinking")) fields.emplace_back("thinking", reasoning);
        fields.emplace_back(kReasoningFields[0], reasoning);
        return;
    }
}

// Whether a template has this word, as the name of a variable, of a field or of a role.
bool mentions(std::string_view source, std::string_view word) {
    const auto is_letter = [&](std::size_t at) {
        return at < source.size() &&
               (std::isalnum(static_cast<unsigned char>(source[at])) != 0 || source[at] == '_');
    };
    for (std::size_t at = source.find(word); at != std::string_view::npos; at = source.find(word, at + 1))
        if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
    return false;
}

// Templates of the harmony format render the content of a message with calls as reasoning, take no None for
// it, and take no other reasoning beside it. Fits a message to that.
void fit_harmony(jinja::Entries& fields) {
    const jinja::Value* calls = jinja::find(fields, "tool_calls");
    if (!calls || calls->is(jinja::Kind::None)) return;
    const jinja::Value* reasoning = jinja::find(fields, "thinking");
    const bool has_reasoning = reasoning && reasoning->is(jinja::Kind::Text) && !reasoning->text().empty();
    std::string joined = has_reasoning ? std::string(reasoning->text()) : std::string();
    for (auto& [key, value] : fields) {
        if (key.text() != "content") continue;
        if (!value.is(jinja::Kind::Text)) value = "";
        if (!has_reasoning || value.text().empty()) return;
        joined += "\n\n" + std::string(value.text());
        value = "";
    }
    for (auto& [key, value] : fields)
        if (key.text() == "thinking") value = jinja::Value(joined);
}

jinja::Value value_of(const ChatMessage& message, ChatRole role, bool harmony) {
    jinja::Entries fields{{"role", name(role)}, {"content", message.content}};
    fields.insert(fields.end(), message.more.begin(), message.more.end());
    add_reasoning(fields);
    if (harmony) fit_harmony(fields);
    return jinja::Value::map(std::move(fields));
}

}  // namespace

std::string_view name(ChatRole role) {
    switch (role) {
        case ChatRole::System:
            return "system";
        case ChatRole::Developer:
            return "developer";
        case ChatRole::User:
            return "user";
        case ChatRole::Assistant:
            return "assistant";
        case ChatRole::Tool:
            return "tool";
    }
    return {};
}

std::vector<std::string_view> ChatTemplate::names() {
    std::vector<std::string_view> names;
    for (const NamedTemplate& each : named_templates()) names.push_back(each.name);
    return names;
}

ChatTemplate ChatTemplate::named(std::string_view name) {
    for (const NamedTemplate& each : named_templates())
        if (each.name == name) return {std::string(name), each.text(), name};
    throw JobError(
        fmt::format("unknown chat template \"{}\"; the names are {}", name, fmt::join(names(), ", ")));
}

ChatTemplate ChatTemplate::of_model(std::string_view text, std::string_view where) {
    return {"of the model", std::string(text), where};
}

ChatTemplate::ChatTemplate(std::string name, std::string source, std::string_view where)
    : name_(std::move(name)),
      source_(std::move(source)),
      jinja_(source_, where),
      takes_tools_(mentions(source_, "tools")),
      takes_effort_(mentions(source_, "reasoning_effort")),
      knows_developers_(mentions(source_, "developer")),
      harmony_(source_.find("<|channel|>") != std::string::npos) {}

std::string ChatTemplate::render(std::span<const ChatMessage> messages, std::string_view bos,
                                 std::string_view eos, const ChatOptions& options) const {
    if (messages.empty()) throw JobError("the chat has no messages");
    jinja::Values values;
    for (const ChatMessage& message : messages) {
        const bool renamed = message.role == ChatRole::Developer && !knows_developers_;
        values.push_back(value_of(message, renamed ? ChatRole::System : message.role, harmony_));
    }
    // The first of the same name counts: a caller may replace tokens, but not messages.
    jinja::Entries variables{{"messages", jinja::Value::list(std::move(values))},
                             {"tools", options.tools},
                             {"documents", options.documents},
                             {"add_generation_prompt", options.add_generation_prompt}};
    variables.insert(variables.end(), options.arguments.begin(), options.arguments.end());
    if (!bos.empty()) variables.emplace_back("bos_token", bos);
    if (!eos.empty()) variables.emplace_back("eos_token", eos);
    return jinja_.render(variables, options.now);
}

}  // namespace voltpile::llm
