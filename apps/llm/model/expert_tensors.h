// The matrices of experts. The canonical tensors are one matrix for each expert, "blk.3.ffn_up.17.weight", as
// in Hugging Face folders and old GGUF files; GGUF files stack all experts of a layer in one tensor,
// "blk.3.ffn_up_exps.weight".
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/model/model_source.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

// Returns the canonical name of a matrix. kind: "ffn_gate", "ffn_up" or "ffn_down".
std::string expert_name(std::int64_t layer, std::string_view kind, std::int64_t expert);

// Replaces the stacked tensors of a GGUF file by one for each expert. Throws FileError for shapes that do not
// agree with the description.
void unstack_experts(const ModelConfig& config, TensorFiles& files);

// Returns the name of the stack that begins with this matrix of expert 0.
std::string stacked_name(const ModelTensor& first);

// Returns the tensors of a model as GGUF files have them, with the matrices of each layer's experts stacked.
std::vector<ModelTensor> stacked_tensors(const ModelSource& model);

// Throws JobError if a layer's gate and up matrices have different formats on GPUs, which have no products
// for such experts.
void check_experts_on_gpus(const ModelSource& model);

// Reads rows [row_begin, row_end) of one of stacked_tensors().
void read_stacked(const ModelSource& model, const ModelTensor& tensor, std::size_t row_begin,
                  std::size_t row_end, std::byte* out);

}  // namespace voltpile::llm
