// The pages of a sequence: found by their tokens, told of when they are full, given back.
#pragma once

#include "llm/engine/prefix_cache.h"
#include "llm/engine/sequence.h"

namespace voltpile::llm {

// A sequence at the end of a whole page goes on after all pages that are kept for its next tokens, but for
// the last token, whose logits are wanted. pass: the one being planned. False: the next page is being
// computed in that very pass.
bool use_kept_pages(PrefixCache& cache, Sequence& sequence, std::uint64_t pass);

// Keeps the pages that are full of known tokens. pass: in which the last of them are computed.
void keep_full_pages(PrefixCache& cache, Sequence& sequence, std::uint64_t pass);

// Room for `tokens`; false, and nothing has changed, if the cache has too few pages.
bool make_room(PrefixCache& cache, Sequence& sequence, int tokens);

// The sequence has computed nothing any more.
void give_back_pages(PrefixCache& cache, Sequence& sequence);

}  // namespace voltpile::llm
