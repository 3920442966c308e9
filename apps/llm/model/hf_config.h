// The description of a model from the JSON files of its Hugging Face folder.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "llm/model/model_config.h"

namespace voltpile::llm {

// Reads config.json, and if there are such files generation_config.json, tokenizer_config.json and
// chat_template.jinja; looks which tokenizer there is. Throws FileError as config_from_gguf, and for
// quantized models and activations that are not supported.
ModelConfig config_from_folder(const std::string& folder);

// What config.json alone says, not yet checked for ranges; `path` is for messages.
ModelConfig config_from_json(const nlohmann::json& object, std::string_view path);

}  // namespace voltpile::llm
