// Describes a model for people, in `voltpile model info`.
#pragma once

#include <string>

#include "llm/model/model_source.h"

namespace voltpile::llm {

// Returns several lines with family, sizes, context and RoPE, formats and tokenizer.
std::string config_text(const ModelSource& model);

// Returns a table of the memory needed on 1, 2, 4 and 8 GPUs. Tensor parallelism splits the model within a
// node of four GPUs as far as the model allows, pipeline stages beyond that.
std::string needs_text(const ModelSource& model);

}  // namespace voltpile::llm
