// GPTQ with act-order quantizes the columns of a matrix in the order of their importance, so that those of a
// group are not adjacent. Such a matrix takes 16 bits a weight, or its integers if its columns are sorted and
// the numbers that it multiplies are gathered in the same order.
#pragma once

#include <memory>
#include <vector>

#include "llm/model/model_config.h"
#include "llm/model/model_tensor.h"
#include "llm/model/packed/packed_matrix.h"

namespace voltpile::llm {

// Sorts what it can in each layer's dense part: the columns of Q, K and V, and of gate and up, if these have
// the same order, as they have in files of GPTQ because they multiply the same numbers; and the columns of
// down together with the rows of gate and up, so that nothing is to be gathered for it. Sets column_order and
// the format of these tensors. The output matrix of attention and those of experts stay as they are. Keeps
// what the tensors refer to in `packed`.
void sort_columns(std::vector<ModelTensor>& tensors, const ModelConfig& config,
                  std::vector<std::unique_ptr<PackedMatrix>>& packed);

}  // namespace voltpile::llm
