// Draws after tokens that are only guessed: as if all of them were right.
#pragma once

#include <cstdint>
#include <span>

#include "llm/engine/pass.h"
#include "llm/engine/sequence.h"

namespace voltpile::llm {

// Returns how the token after `guessed` is drawn, tokens that follow the known ones of the sequence. before:
// tokens that the sequence has drawn by then. Its grammar must allow `guessed`. Without top_n.
Draw draw_after(const Sequence& sequence, std::span<const std::int32_t> guessed, int before);

// Returns how many tokens of a draft, from the first, the sequence's grammar allows without ending the text
// or leaving no token; all of them without a grammar.
std::size_t allowed_of(const Sequence& sequence, std::span<const std::int32_t> draft);

}  // namespace voltpile::llm
