// Shapes of well-known models, for synthetic weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/model/model_config.h"

namespace voltpile::llm {

// Of the made-up tokenizer of all synthetic models.
inline constexpr int kSyntheticBos = 1;
inline constexpr int kSyntheticEos = 2;

std::vector<std::string> synthetic_shape_names();

// The published config of the model, with RoPE as in its GGUF files. "tiny" is no published model: 4 layers
// of 256. Throws JobError for other names, with what there is.
ModelConfig synthetic_shape(std::string_view name);

}  // namespace voltpile::llm
