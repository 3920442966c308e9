// What a model has written, for programs and for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "llm/engine/outcome.h"

namespace voltpile::cli {

// text: of the generated tokens. prompt_tokens: processed before the first of them.
nlohmann::json generated_json(const llm::Outcome& generated, const std::string& text,
                              std::size_t prompt_tokens);

// "prompt 12 tokens, 310 tok/s; generated 128 tokens, 71.3 tok/s"
std::string rates_text(const llm::Outcome& generated, std::size_t prompt_tokens);

// For a text that ended with llm::Finish::Context. what: "answer", "text".
std::string context_full_text(std::string_view what, int context);

}  // namespace voltpile::cli
