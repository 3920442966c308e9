// The tensors that a model of a given description has.
#pragma once

#include <vector>

#include "llm/model/model_config.h"
#include "llm/model/model_tensor.h"

namespace voltpile::llm {

// Names, shapes and cuts, in the order embedding, layers, head; formats and places are left at their
// defaults. The config has passed check_config.
std::vector<ModelTensor> tensor_table(const ModelConfig& config);

}  // namespace voltpile::llm
