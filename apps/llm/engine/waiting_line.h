// The sequences that wait to be admitted, in the order in which they will be.
//
// Sequences that lost their pages come first, the oldest first: they have been admitted before. Then comes
// the owner that has been served least, as in the Virtual Token Counter of Sheng et al., "Fairness in Serving
// Large Language Models" (OSDI 2024): each owner has a counter of its tokens, prompt and drawn, divided by
// its weight. An owner who returns after a pause starts no lower than the lowest of those who are waiting, so
// a pause gives no advantage. Sequences of one owner are admitted in the order of arrival.
//
// As long as two owners both have sequences that wait, the difference of their counters does not exceed
// U = max(tokens of the longest prompt, tokens that the running sequences can still draw) / the least weight.
#pragma once

#include <cstddef>
#include <map>

#include "llm/engine/sequence.h"

namespace voltpile::llm {

class WaitingLine {
  public:
    // A new sequence, or one that has lost its pages.
    void add(SequencePtr sequence);
    // Removes a sequence; does nothing if it is not here.
    void remove(const Sequence& sequence);

    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    // Returns the sequence to admit next. Only if there is one.
    const SequencePtr& front() const;

    // Counts tokens of a sequence whose owner has been served.
    void charge(const Sequence& sequence, std::size_t tokens);

  private:
    struct Owner {
        SequencesByAge waiting;
        double served = 0;  // tokens divided by weight
    };
    using Owners = std::map<int, Owner>;

    Owners::const_iterator least_served() const;

    SequencesByAge preempted_;
    Owners owners_;
    int last_ = 0;  // the owner whose last waiting sequence left most recently
    std::size_t size_ = 0;
};

}  // namespace voltpile::llm
