// Writes a model's description as GGUF metadata, under the keys that gguf_config.h reads.
#pragma once

#include "llm/model/gguf_writer.h"
#include "llm/model/model_config.h"

namespace voltpile::llm {

// Adds general.architecture and the sizes, RoPE and experts of the model. Llama3's scaling and longrope have
// no keys: their factors are tensors.
void add_model_keys(const ModelConfig& config, GgufWriter& file);

}  // namespace voltpile::llm
