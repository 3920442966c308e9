// A draft head of the kind of EAGLE 3 (arXiv:2503.01840), as a model with one layer. It guesses for the model
// that it was trained with. For the token t+1 of a sequence, let
//
//   g = fc * concat(the inputs of three layers of the model at token t)
//   x = concat(RMS norm with input_layernorm of the embedding of token t+1, RMS norm with hidden_norm of g)
//
// Attention reads x instead of a normed residual stream, so its matrices Q, K and V have twice the columns. A
// Llama layer adds attention and feed-forward part to g, or to its norm if norm_before_residual is set. The
// norm and the head give the logits of token t+2, and for further tokens the layer's output before that norm
// takes the place of g. So do SGLang (llama_eagle3.py) and vLLM (llama_eagle3.py).
//
// The input of layer i is the residual stream before it: 0 is the embedding. Without a list the layers are 2,
// n / 2 and n - 3 of n. "eagle_aux_hidden_state_layer_ids" at the top of config.json lists them as vLLM and
// the speculators library do; in "eagle_config" it lists the layers whose outputs are these inputs, each
// smaller by one, as SGLang and SpecForge do.
//
// The logits may cover a part of the vocabulary: row i is that of token i + d2t[i].
#pragma once

#include <string>

#include "llm/model/model_config.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

// Whether `path` is a Hugging Face folder with an EAGLE 3 head. Throws FileError for a config.json that is
// not a JSON object.
bool is_eagle_head(const std::string& path);

// Reads the description of a head and gives its tensors canonical names. Removes tables and a copy of the
// embedding. model: the description of the model that it guesses for; its context is also that of the head.
// Throws FileError for heads that are not supported, and for those of another model.
ModelConfig read_eagle_head(TensorFiles& files, const ModelConfig& model);

// Returns the name in the head's files of a tensor, for messages.
std::string name_in_eagle_head(const std::string& tensor);

}  // namespace voltpile::llm
