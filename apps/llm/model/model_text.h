// A model described for people: `voltpile model info`.
#pragma once

#include <string>

#include "llm/model/model_source.h"

namespace voltpile::llm {

// What it is: family, sizes, context and RoPE, formats, tokenizer; several lines.
std::string config_text(const ModelSource& model);

// What it needs on 1, 2, 4 and 8 GPUs, as a table. GPUs are cut by tensor parallelism within a node of four,
// as far as the model allows, and by layers beyond.
std::string needs_text(const ModelSource& model);

}  // namespace voltpile::llm
