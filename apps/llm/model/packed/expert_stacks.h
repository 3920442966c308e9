// The matrices of all experts of a layer as gpt-oss folders stack them.
#pragma once

#include "llm/model/model_config.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

// Replaces the stacks of each layer N, model.layers.N.mlp.experts.X, by the matrices of each expert and the
// biases of all, under their canonical names. The rows of gate and up alternate, gate first. X is one of
//   gate_up_proj_blocks, gate_up_proj_scales   U8 (experts, 2 ffn, hidden / 32, 16), (experts, 2 ffn, hidden
//   / 32) down_proj_blocks, down_proj_scales         U8 (experts, hidden, ffn / 32, 16), (experts, hidden,
//   ffn / 32) gate_up_proj, down_proj                    instead of these: F16, BF16 or F32 (experts, hidden,
//   2 ffn) and
//                                              (experts, ffn, hidden), transposed
//   gate_up_proj_bias                          F16, BF16 or F32 (experts, 2 ffn)
// Byte k of a block has the E2M1 codes of weights 2k (low nibble) and 2k + 1; their scale is 2^(s - 127). The
// blocks become MXFP4. Other tensors, and folders without these names, stay as they are. Throws FileError
// with file and tensor for parts that are missing or do not have the shape of `config`.
void unpack_expert_stacks(TensorFiles& files, const ModelConfig& config);

}  // namespace voltpile::llm
