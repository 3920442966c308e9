// The families' formats. All arguments are as in ChatTemplate::render; messages are not empty.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "llm/tokenizer/chat_template.h"

namespace voltpile::llm {

std::string render_chatml(std::span<const ChatMessage> messages, std::string_view default_system,
                          const ChatOptions& options);
std::string render_qwen3(std::span<const ChatMessage> messages, const ChatOptions& options);
std::string render_llama3(std::span<const ChatMessage> messages, std::string_view bos,
                          const ChatOptions& options);
std::string render_llama31(std::span<const ChatMessage> messages, std::string_view bos,
                           const ChatOptions& options);

// The families with "[INST]": Llama 2 and Mistral's.
std::string render_inst(ChatFamily family, std::span<const ChatMessage> messages, std::string_view bos,
                        std::string_view eos);

}  // namespace voltpile::llm
