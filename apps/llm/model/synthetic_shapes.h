// Shapes of well-known models, for synthetic weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/model/model_config.h"

namespace voltpile::llm {

// Special tokens of the tokenizer of all synthetic models.
inline constexpr int kSyntheticBos = 1;
inline constexpr int kSyntheticEos = 2;

// How the names of all synthetic models begin; the name of the shape follows.
inline constexpr std::string_view kSyntheticName = "synthetic ";

std::vector<std::string> synthetic_shape_names();

// Returns the published config of a model, with RoPE as in its GGUF files. "tiny" and "tiny-moe" are not
// published models: they have 4 layers with a hidden size of 256. Throws JobError, which lists the names, for
// other names.
ModelConfig synthetic_shape(std::string_view name);

}  // namespace voltpile::llm
