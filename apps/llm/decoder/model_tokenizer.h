// The tokenizer that a model's files hold.
#pragma once

#include "llm/model/model_files.h"
#include "llm/tokenizer/tokenizer.h"

namespace voltpile::llm {

// Throws JobError or FileError if there is none, if it is of a kind that is not supported, or damaged.
Tokenizer load_tokenizer(const ModelFiles& model);

}  // namespace voltpile::llm
