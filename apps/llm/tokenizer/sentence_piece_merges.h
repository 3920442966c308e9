// Derives the merges of SentencePiece's BPE from its scores: any two neighbors whose joined text is a token
// may be merged, the highest score first.
#pragma once

#include <span>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

// Sets `merges` and `characters` from `texts`, `kinds` and the scores, which are by id, one for each text.
void set_merges_from_scores(Vocabulary& vocabulary, std::span<const float> scores);

}  // namespace voltpile::llm
