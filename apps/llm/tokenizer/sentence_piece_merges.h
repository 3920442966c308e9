// The merges that SentencePiece's BPE implies by its scores: any two neighbors whose joined text is a token
// may be merged into it, the highest score first.
#pragma once

#include <span>

#include "llm/tokenizer/vocabulary.h"

namespace voltpile::llm {

// Sets `merges` and `characters` from `texts`, `kinds` and the tokens' scores (by id, as many as there are
// texts).
void set_merges_from_scores(Vocabulary& vocabulary, std::span<const float> scores);

}  // namespace voltpile::llm
