// Writes a tokenizer as GGUF metadata.
#pragma once

#include "llm/model/gguf_writer.h"
#include "llm/model/model_config.h"
#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

// Adds tokenizer.ggml.* and the chat template. The file gets one token for each row of the embedding: those
// beyond the vocabulary are unused. Throws JobError for a pre-tokenizer without a name in GGUF.
void add_tokenizer_metadata(const Vocabulary& vocabulary, const ModelConfig& config, GgufWriter& file);

}  // namespace voltpile::llm
