// Gives a sequence its pages of the KV cache: shared ones with the same tokens, or new ones.
#pragma once

#include "llm/engine/prefix_cache.h"
#include "llm/engine/sequence.h"

namespace voltpile::llm {

// Moves a sequence that stands at a page's end past all pages that the cache keeps for its next tokens,
// except for the last token, whose logits are needed. Pages in host memory are brought back. pass: the pass
// being planned. Returns false if this pass computes the next page for another sequence, so that this
// sequence should wait for it.
bool use_kept_pages(PrefixCache& cache, Sequence& sequence, std::uint64_t pass);

// Makes full pages of known tokens available to other sequences. pass: the pass that computes the last of
// them.
void keep_full_pages(PrefixCache& cache, Sequence& sequence, std::uint64_t pass);

// Gives the sequence pages for `tokens` tokens. Returns false and changes nothing if the cache has too few.
bool make_room(PrefixCache& cache, Sequence& sequence, int tokens);

// Releases all pages: the sequence must be computed again from its first token.
void give_back_pages(PrefixCache& cache, Sequence& sequence);

}  // namespace voltpile::llm
