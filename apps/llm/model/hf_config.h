// Reads the description of a model from the JSON files of its Hugging Face folder.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "llm/model/model_config.h"

namespace voltpile::llm {

// Reads config.json and, if they exist, generation_config.json, tokenizer_config.json and
// chat_template.jinja. Also finds the tokenizer's file. Throws FileError as config_from_gguf() does, and for
// quantized models and unsupported activations.
ModelConfig config_from_folder(const std::string& folder);

// Reads the description in config.json alone and does not check ranges. path: for messages.
ModelConfig config_from_json(const nlohmann::json& object, std::string_view path);

}  // namespace voltpile::llm
