// The layers behind the last of a model that predict further tokens (multi-token prediction,
// arXiv:2412.19437, section 2.2), as a model of its own. For the token t+1 of a sequence and the hidden state
// h of its token t, the input of the first layer is
//
//   eh_proj * concat(RMS norm with enorm of the embedding of token t+1, RMS norm with hnorm of h)
//
// and a decoder layer like the last of the model, a norm (nextn.shared_head_norm.weight) and the head give
// the logits of token t+2. h is the input of the model's head, behind its last norm. Layer k, from 0 on,
// reads the token t+1+k and as h the input of the head of layer k-1 for the same t, behind its norm, and
// gives the logits of token t+2+k. For further tokens the last layer goes on with its own. So does SGLang
// with one layer (deepseek_nextn.py, logits_processor.py). vLLM takes the layer's own hidden state before
// that norm, and 0 as the embedding of the second token of a sequence (deepseek_mtp.py).
#pragma once

#include <string>

#include "llm/model/model_config.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

// Keeps the tensors that the prediction layers may use, under the names that files give them.
void keep_prediction_layers(const ModelConfig& config, TensorFiles& files);

// Turns the description of a model into that of its prediction layers, and the canonical names of the tensors
// that keep_prediction_layers() has left into those of tensor_table(): "blk.46.attn_q.weight" becomes
// "blk.0.attn_q.weight". Removes embeddings and heads that are copies of those of the model, as published
// models have them.
ModelConfig as_model(const ModelConfig& config, TensorFiles& files);

// Returns the canonical name in the model's files of a tensor of its prediction layers, or the name in the
// files of an EAGLE 3 head, for messages.
std::string name_in_model(const std::string& tensor, const PredictionLayers& layers);

}  // namespace voltpile::llm
