// Renders messages in the format of each family of models. Arguments are those of ChatTemplate::render();
// there is at least one message.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "llm/chat/chat_template.h"

namespace voltpile::llm {

std::string render_chatml(std::span<const ChatMessage> messages, std::string_view default_system,
                          const ChatOptions& options);
std::string render_qwen3(std::span<const ChatMessage> messages, const ChatOptions& options);
std::string render_llama3(std::span<const ChatMessage> messages, std::string_view bos,
                          const ChatOptions& options);
std::string render_llama31(std::span<const ChatMessage> messages, std::string_view bos,
                           const ChatOptions& options);

// Renders for the families that use "[INST]": Llama 2 and Mistral.
std::string render_inst(ChatFamily family, std::span<const ChatMessage> messages, std::string_view bos,
                        std::string_view eos);

// Trim text as Jinja templates do, with Python's definition of white space.
std::string_view trim_white_space(std::string_view text);
std::string_view trim_newlines(std::string_view text);
std::string_view trim_newlines_before(std::string_view text);

}  // namespace voltpile::llm
