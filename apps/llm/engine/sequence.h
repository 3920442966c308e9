// The scheduler's state of one request.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "llm/engine/draft_length.h"
#include "llm/engine/prefix_cache.h"
#include "llm/engine/request.h"
#include "llm/grammar/grammar.h"

namespace voltpile::llm {

struct Sequence {
    std::int64_t id = 0;
    std::int64_t age = 0;              // its number in the order of arrival
    int owner = 0;                     // Request::owner
    double weight = 1;                 // Request::weight
    std::vector<std::int32_t> tokens;  // the prompt and the tokens drawn so far
    int first_draw = 0;                // Request::first_draw
    int most_tokens = 0;               // tokens to draw at most
    int drawn = 0;                     // tokens drawn
    int drawing = 0;                   // draws in flight, whose tokens are not known yet
    int computed = 0;                  // tokens in the cache after all passes planned so far
    int passes = 0;                    // passes in flight with rows of this sequence
    int to_read = 0;                   // rows_left() on admission
    int shared = 0;                    // prompt tokens found in the cache
    int lane = -1;                     // the lane whose passes draw for it; -1: not admitted
    bool admitted = false;             // at least once
    bool ended = false;
    std::vector<std::int32_t> pages;
    int known_pages = 0;                                      // leading pages that PrefixCache keeps
    PrefixCache::Beginning beginning = PrefixCache::nothing;  // the prefix in these pages
    std::shared_ptr<const SamplingSettings> sampling;
    std::shared_ptr<std::map<std::int32_t, std::int32_t>> history;  // nullptr: no penalty needs it
    std::optional<GrammarMatcher> grammar;  // of the tokens drawn so far; nothing: any token may be drawn
    int top_n = 0;
    int adapter = -1;     // Request::adapter
    int score_until = 0;  // the log-probabilities of the tokens 1 .. score_until - 1 are to be found
    int scored = 1;       // tokens before this one have theirs
    int last_draw = 0;    // the index of its draw in the last pass that drew for it
    // Tokens that a pass in flight has after the last known one, guessed ahead; not counted in `computed`.
    std::vector<std::int32_t> draft;
    int right = 0;  // how many of them, from the first, the completed draws have confirmed
    GuessRecord guesses;

    int length() const { return static_cast<int>(tokens.size()) + drawing; }
    int rows_left() const { return length() - computed; }
    // Whether a draw depends on all tokens before it.
    bool needs_all_tokens() const { return history != nullptr || grammar.has_value(); }
    // Whether a piece of the prompt with this many rows gives log-probabilities of tokens after its rows.
    bool scores(int rows) const { return scored < score_until && computed + rows >= scored; }
    // Whether the draw after this many tokens of the draft counts, because all of them are right. Then these
    // tokens are in the cache. Call it for 1, 2, ... as long as it returns true.
    bool confirm(int guessed) {
        if (ended || right != guessed - 1 || draft[static_cast<std::size_t>(right)] != tokens.back())
            return false;
        ++right;
        if (lane >= 0) ++computed;  // unless it has lost its pages
        return true;
    }
    bool goes_on() const { return drawn + drawing < most_tokens; }
    bool generates() const { return goes_on() && rows_left() == 1 && drawn + drawing > 0; }
};

using SequencePtr = std::shared_ptr<Sequence>;
using SequencesByAge = std::map<std::int64_t, SequencePtr>;  // the oldest first

}  // namespace voltpile::llm
