// Divides tensors that hold several matrices of a layer one below the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/model/model_tensor.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

// Replaces blk.N.attn_qkv by attn_q, attn_k and attn_v (weights and biases), and a blk.N.ffn_up.weight
// without ffn_gate by ffn_gate and ffn_up. The parts are views of the file. Leaves a tensor whose size is not
// that of its parts. table: the tensors that the model should have.
void divide_fused_tensors(TensorFiles& files, const std::vector<ModelTensor>& table);

// Returns the parts of a tensor with such a name, blk.N.attn_qkv.weight or blk.N.ffn_up.weight, in their
// order; empty for other names. Whether the tensor is fused depends on its rows.
std::vector<std::string> parts_of_fused(std::string_view tensor);

}  // namespace voltpile::llm
