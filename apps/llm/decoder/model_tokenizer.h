// The tokenizer that a model's files hold.
#pragma once

#include "llm/model/model_files.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

// Throws JobError or FileError if there is none, if it is of a kind that is not supported, or damaged.
Tokenizer load_tokenizer(const ModelFiles& model);

// That of a synthetic model with so many tokens, as its GGUF file would hold it.
Tokenizer synthetic_tokenizer(std::int64_t vocab);

}  // namespace voltpile::llm
