// The description of a model from the JSON files of its Hugging Face folder.
#pragma once

#include <string>

#include "llm/model/model_config.h"

namespace voltpile::llm {

// Reads config.json, and if there are such files generation_config.json, tokenizer_config.json and
// chat_template.jinja; looks which tokenizer there is. Throws FileError as config_from_gguf, and for
// quantised models and activations that are not supported.
ModelConfig config_from_folder(const std::string& folder);

}  // namespace voltpile::llm
