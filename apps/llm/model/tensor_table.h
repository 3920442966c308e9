// Lists the tensors of a model with a given description.
#pragma once

#include <vector>

#include "llm/model/model_config.h"
#include "llm/model/model_tensor.h"

namespace voltpile::llm {

// Returns names, shapes and cuts in the order embedding, layers, head. Formats and places have their
// defaults. config: has passed check_config().
std::vector<ModelTensor> tensor_table(const ModelConfig& config);

}  // namespace voltpile::llm
