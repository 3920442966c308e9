// Loads the tokenizer of a model.
#pragma once

#include "llm/model/model_files.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

// Loads the tokenizer from the model's files. Throws JobError or FileError if the model has none, or if it is
// unsupported or damaged.
Tokenizer load_tokenizer(const ModelFiles& model);

// Returns the vocabulary that the metadata of a GGUF file hold.
Vocabulary gguf_vocabulary(const GgufFile& file);

// Returns the tokenizer of a synthetic model with `vocab` tokens, the same that its GGUF file holds.
Tokenizer synthetic_tokenizer(std::int64_t vocab);

}  // namespace voltpile::llm
