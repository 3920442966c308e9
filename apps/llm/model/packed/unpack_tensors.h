// Finds the matrices that the files of a Hugging Face folder have packed.
#pragma once

#include "llm/model/model_config.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

// Replaces the parts of each packed linear layer (qweight, qzeros, scales, g_idx...) by one tensor
// "LAYER.weight" in the format to which it converts. Removes scales of activations and of the KV cache, and
// biases of GPTQ layers if they are zero. Leaves all other tensors. Throws FileError with file and tensor for
// parts that are missing or whose shapes contradict each other. config: with its quantization.
void unpack_tensors(TensorFiles& files, const ModelConfig& config);

}  // namespace voltpile::llm
