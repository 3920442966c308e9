// What the scheduler knows of one request under way.
#pragma once

#include <map>
#include <memory>

#include "llm/engine/prefix_cache.h"
#include "llm/engine/request.h"

namespace voltpile::llm {

struct Sequence {
    std::int64_t id = 0;
    std::int64_t age = 0;              // place in the order in which requests came
    std::vector<std::int32_t> tokens;  // the prompt, and what has been drawn since
    int first_draw = 0;                // of the request
    int most_tokens = 0;               // to be drawn
    int drawn = 0;                     // of tokens
    int drawing = 0;                   // under way: tokens that are not known yet
    int computed = 0;                  // tokens in the cache, once all passes planned so far have run
    int passes = 0;                    // under way, with rows of it
    int to_read = 0;                   // rows_left() when it was admitted
    int lane = -1;                     // of the passes that draw for it; -1: waits
    bool admitted = false;             // once at least
    bool ended = false;
    std::vector<std::int32_t> pages;
    int known_pages = 0;                                      // of these that PrefixCache has been told
    PrefixCache::Beginning beginning = PrefixCache::nothing;  // that they make
    std::shared_ptr<const SamplingSettings> sampling;
    std::shared_ptr<std::map<std::int32_t, std::int32_t>> history;  // nullptr: no penalty asks for it
    int top_n = 0;
    int last_draw = 0;  // its place among those of the pass that has drawn for it last

    int length() const { return static_cast<int>(tokens.size()) + drawing; }
    int rows_left() const { return length() - computed; }
    bool goes_on() const { return drawn + drawing < most_tokens; }
    bool generates() const { return goes_on() && rows_left() == 1 && drawn + drawing > 0; }
};

using SequencePtr = std::shared_ptr<Sequence>;
using SequencesByAge = std::map<std::int64_t, SequencePtr>;  // the oldest first

}  // namespace voltpile::llm
