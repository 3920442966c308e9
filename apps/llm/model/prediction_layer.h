// The first layer behind the last of a model that predicts further tokens (multi-token prediction,
// arXiv:2412.19437, section 2.2), as a model with one layer. For the token t+1 of a sequence and the hidden
// state h of its token t, the layer's input is
//
//   eh_proj * concat(RMS norm with enorm of the embedding of token t+1, RMS norm with hnorm of h)
//
// and a decoder layer like the last of the model, a norm (output_norm.weight) and the head give the logits of
// token t+2. h is the input of the model's head, behind its last norm; for further tokens, it is the input of
// the layer's own head, behind its norm. So does SGLang (deepseek_nextn.py, logits_processor.py). vLLM takes
// the layer's own hidden state before that norm, and 0 as the embedding of the second token of a sequence
// (deepseek_mtp.py).
#pragma once

#include <string>

#include "llm/model/model_config.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

// Keeps the tensors that the first prediction layer may use, under the names that files give them.
void keep_prediction_layer(const ModelConfig& config, TensorFiles& files);

// Turns the description of a model into that of its first prediction layer, and the canonical names of the
// tensors that keep_prediction_layer() has left into those of tensor_table(): "blk.46.attn_q.weight" becomes
// "blk.0.attn_q.weight". Removes an embedding and a head that are copies of those of the model, as published
// models have them.
ModelConfig as_model(const ModelConfig& config, TensorFiles& files);

// Returns the canonical name in the model's files of a tensor of its prediction layer, or the name in the
// files of an EAGLE 3 head, for messages.
std::string name_in_model(const std::string& tensor, const PredictionLayer& layer);

}  // namespace voltpile::llm
