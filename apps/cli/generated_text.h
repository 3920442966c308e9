// The outcome of a generation, as JSON and as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "llm/engine/request.h"

namespace voltpile::cli {

// text: the generated tokens, decoded. prompt_tokens: tokens that prefill processed, less than the prompt if
// the KV cache held a part of it.
nlohmann::json generated_json(const llm::Outcome& generated, const std::string& text,
                              std::size_t prompt_tokens);

// Returns "prompt 12 tokens, 310 tok/s; generated 128 tokens, 71.3 tok/s".
std::string rates_text(const llm::Outcome& generated, std::size_t prompt_tokens);

// The remark on a text that ended with llm::Finish::Context. what: "answer" or "text".
std::string context_full_text(std::string_view what, int context);

}  // namespace voltpile::cli
