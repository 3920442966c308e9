// Reads the description of a model from the metadata of its GGUF file.
#pragma once

#include "llm/model/gguf_file.h"
#include "llm/model/model_config.h"

namespace voltpile::llm {

// file: the file with the metadata. tensors: the tensors in all files of the model. Throws FileError for
// unsupported families and RoPE scalings, which it names, for missing keys and for values out of range.
ModelConfig config_from_gguf(const GgufFile& file, const StoredTensors& tensors);

}  // namespace voltpile::llm
