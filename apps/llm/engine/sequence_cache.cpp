#include "llm/engine/sequence_cache.h"

#include <algorithm>

namespace voltpile::llm {
namespace {

PageTokens tokens_of_page(const Sequence& sequence, int page) {
    return PageTokens(sequence.tokens.data() + page * kv_page_tokens, kv_page_tokens);
}

}  // namespace

bool use_kept_pages(PrefixCache& cache, Sequence& sequence, std::uint64_t pass) {
    for (;;) {
        const int page = sequence.known_pages;
        if (sequence.computed != page * kv_page_tokens) return true;
        if (sequence.computed + kv_page_tokens >= static_cast<int>(sequence.tokens.size())) return true;
        auto kept = cache.find(sequence.beginning, tokens_of_page(sequence, page));
        if (kept) {
            if (kept->pass == pass) return false;
            cache.share(kept->page);
        } else {
            // Only for a sequence that then fits.
            const int missing = pages_for(sequence.length() + 1) - page;
            if (missing > cache.available()) return true;
            kept = cache.bring_back(sequence.beginning, tokens_of_page(sequence, page));
            if (!kept) return true;
        }
        if (page < static_cast<int>(sequence.pages.size())) {
            std::int32_t& own = sequence.pages[static_cast<std::size_t>(page)];
            cache.release(own);
            own = kept->page;
        } else {
            sequence.pages.push_back(kept->page);
        }
        sequence.beginning = kept->beginning;
        ++sequence.known_pages;
        sequence.computed += kv_page_tokens;
    }
}

void keep_full_pages(PrefixCache& cache, Sequence& sequence, std::uint64_t pass) {
    const int known = std::min(sequence.computed, static_cast<int>(sequence.tokens.size()));
    for (; (sequence.known_pages + 1) * kv_page_tokens <= known; ++sequence.known_pages)
        sequence.beginning = cache.keep(sequence.beginning, tokens_of_page(sequence, sequence.known_pages),
                                        sequence.pages[static_cast<std::size_t>(sequence.known_pages)], pass);
}

bool make_room(PrefixCache& cache, Sequence& sequence, int tokens) {
    const int missing = pages_for(tokens) - static_cast<int>(sequence.pages.size());
    if (missing > cache.available()) return false;
    for (int i = 0; i < missing; ++i) sequence.pages.push_back(cache.take());
    return true;
}

void give_back_pages(PrefixCache& cache, Sequence& sequence) {
    // Releases the last page first: later pages are only found through earlier ones, so these should be
    // evicted last.
    for (; !sequence.pages.empty(); sequence.pages.pop_back()) cache.release(sequence.pages.back());
    sequence.known_pages = sequence.computed = 0;
    sequence.beginning = PrefixCache::beginning_of(sequence.adapter);
}

}  // namespace voltpile::llm
