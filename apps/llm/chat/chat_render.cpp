#include "llm/chat/chat_render.h"

#include <fmt/format.h>

#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {

namespace {

// Python counts the four ASCII separators as white space too.
bool is_python_space(std::uint32_t c) {
    return is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

std::string_view role_name(ChatRole role) {
    if (role == ChatRole::System) return "system";
    return role == ChatRole::User ? "user" : "assistant";
}

std::string chatml_message(std::string_view role, std::string_view content) {
    return fmt::format("<|im_start|>{}\n{}<|im_end|>\n", role, content);
}

std::string llama3_message(std::string_view role, std::string_view content) {
    return fmt::format("<|start_header_id|>{}<|end_header_id|>\n\n{}<|eot_id|>", role, content);
}

constexpr std::string_view kLlama3Answer = "<|start_header_id|>assistant<|end_header_id|>\n\n";

struct Thought {
    std::string_view reasoning;
    std::string_view answer;
};

// Splits an answer of Qwen 3: "<think>reasoning</think>answer".
Thought split_thought(std::string_view content) {
    constexpr std::string_view kBegin = "<think>", kEnd = "</think>";
    const std::size_t end = content.find(kEnd);
    if (end == std::string_view::npos) return {{}, content};
    std::string_view reasoning = content.substr(0, end);
    if (const std::size_t begin = reasoning.rfind(kBegin); begin != std::string_view::npos)
        reasoning.remove_prefix(begin + kBegin.size());
    return {trim_newlines(reasoning),
            trim_newlines_before(content.substr(content.rfind(kEnd) + kEnd.size()))};
}

bool is_tool_response(std::string_view content) {
    return content.starts_with("<tool_response>") && content.ends_with("</tool_response>");
}

// Returns the index of the question being answered. The template drops reasoning before it.
std::size_t last_question(std::span<const ChatMessage> messages) {
    for (std::size_t i = messages.size(); i-- > 0;)
        if (messages[i].role == ChatRole::User && !is_tool_response(messages[i].content)) return i;
    return messages.size() - 1;
}

}  // namespace

std::string_view trim_white_space(std::string_view text) {
    while (!text.empty()) {
        const Utf8Character first = first_character(text);
        if (!is_python_space(first.code_point)) break;
        text.remove_prefix(first.bytes);
    }
    while (!text.empty()) {
        const std::size_t begin = last_character_begin(text);
        if (!is_python_space(first_character(text.substr(begin)).code_point)) break;
        text = text.substr(0, begin);
    }
    return text;
}

std::string_view trim_newlines_before(std::string_view text) {
    while (text.starts_with('\n')) text.remove_prefix(1);
    return text;
}

std::string_view trim_newlines(std::string_view text) {
    text = trim_newlines_before(text);
    while (text.ends_with('\n')) text.remove_suffix(1);
    return text;
}

std::string render_chatml(std::span<const ChatMessage> messages, std::string_view default_system,
                          const ChatOptions& options) {
    std::string text;
    if (messages.front().role != ChatRole::System && !default_system.empty())
        text += chatml_message("system", default_system);
    for (const ChatMessage& message : messages)
        text += chatml_message(role_name(message.role), message.content);
    if (options.add_generation_prompt) text += "<|im_start|>assistant\n";
    return text;
}

std::string render_qwen3(std::span<const ChatMessage> messages, const ChatOptions& options) {
    const std::size_t question = last_question(messages);
    std::string text;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const ChatMessage& message = messages[i];
        if (message.role != ChatRole::Assistant) {
            text += chatml_message(role_name(message.role), message.content);
            continue;
        }
        const Thought thought = split_thought(message.content);
        const bool keeps_reasoning = i > question && (i + 1 == messages.size() || !thought.reasoning.empty());
        text += chatml_message("assistant",
                               keeps_reasoning ? fmt::format("<think>\n{}\n</think>\n\n{}", thought.reasoning,
                                                             trim_newlines_before(thought.answer))
                                               : std::string(thought.answer));
    }
    if (options.add_generation_prompt) {
        text += "<|im_start|>assistant\n";
        if (!options.thinking) text += "<think>\n\n</think>\n\n";
    }
    return text;
}

std::string render_llama3(std::span<const ChatMessage> messages, std::string_view bos,
                          const ChatOptions& options) {
    std::string text(bos);
    for (const ChatMessage& message : messages)
        text += llama3_message(role_name(message.role), trim_white_space(message.content));
    if (options.add_generation_prompt) text += kLlama3Answer;
    return text;
}

std::string render_llama31(std::span<const ChatMessage> messages, std::string_view bos,
                           const ChatOptions& options) {
    std::string_view system;
    if (messages.front().role == ChatRole::System) {
        system = trim_white_space(messages.front().content);
        messages = messages.subspan(1);
    }
    const std::string dates =
        fmt::format("Cutting Knowledge Date: December 2023\nToday Date: {}\n\n", options.date);
    return std::string(bos) + llama3_message("system", dates + std::string(system)) +
           render_llama3(messages, "", options);
}

}  // namespace voltpile::llm
