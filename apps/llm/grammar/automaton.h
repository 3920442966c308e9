// The byte-level automaton of a grammar: a deterministic automaton for each rule, and a stack for the calls
// of rules.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "llm/grammar/dfa.h"
#include "llm/grammar/expression.h"

namespace voltpile::llm {

// Immutable after construction, so threads may share one. From every state that it has, the end of its rule
// can be reached.
class Automaton {
  public:
    // Throws JobError if the grammar matches no text within kMostDepth, if a rule calls itself before it
    // reads a byte, and if the limit is exceeded.
    Automaton(GrammarRules grammar, WorkLimit& limit);

    static constexpr int none = -1;

    int start() const { return start_; }
    int states() const { return static_cast<int>(accepts_.size()); }
    int after(int state, std::uint8_t byte) const {
        return next_[static_cast<std::size_t>(state) * static_cast<std::size_t>(classes_) + class_of_[byte]];
    }
    bool accepts(int state) const { return accepts_[static_cast<std::size_t>(state)] != 0; }
    bool reads(int state) const { return reads_[static_cast<std::size_t>(state)] != 0; }  // some byte
    // Neither accepts nor calls, so that reading a byte is all it does.
    bool plain(int state) const { return plain_[static_cast<std::size_t>(state)] != 0; }

    // See nesting_needed().
    int nesting_needed(int state) const { return nesting_needed_[static_cast<std::size_t>(state)]; }
    int most_nesting_needed() const { return most_nesting_needed_; }

    struct Call {
        int start;   // of the called rule
        int target;  // the state after the call
        bool last;   // nothing follows in the calling rule, so it need not be returned to
    };
    const std::vector<Call>& calls(int state) const { return calls_[static_cast<std::size_t>(state)]; }

  private:
    void join(const std::vector<Dfa>& dfas, const std::vector<bool>& used);

    std::array<std::uint8_t, 256> class_of_{};
    int classes_ = 1;
    int start_ = 0;
    std::vector<int> next_;  // (states, classes)
    std::vector<std::uint8_t> accepts_, reads_, plain_;
    std::vector<std::vector<Call>> calls_;
    std::vector<int> nesting_needed_;  // by state
    int most_nesting_needed_ = 0;
};

// The rules that are being matched: where to go on after the one on top.
struct Frame {
    int state;
    std::shared_ptr<const Frame> below;
    int depth;
    std::uint64_t hash;  // of this frame and those below
};
using FramePtr = std::shared_ptr<const Frame>;

inline int depth_of(const FramePtr& frame) {
    return frame ? frame->depth : 0;
}

// Returns the topmost frames as a stack of their own.
FramePtr top_frames(const FramePtr& frame, int count);

struct Stack {
    int state = 0;  // of the rule on top, which reads bytes
    FramePtr below;
};

// All that a text may be so far: the automaton is deterministic within a rule, but not about where rules
// begin and end.
struct Configuration {
    std::vector<Stack> stacks;  // no two are equal
    bool complete = false;      // the text may end here
    bool dead() const { return stacks.empty() && !complete; }
};

// A text may not nest rules deeper than this (Python's json reads about 1,000 levels). What could only be
// completed by nesting deeper is not allowed, so that a text can always be completed. Stacks above
// kMostStacks are dropped: what they would allow is not allowed then.
inline constexpr int kMostDepth = 500;
inline constexpr std::size_t kMostStacks = 128;

// The functions below add all that a stack may go on to without reading a byte.
Configuration configuration_of(const Automaton& automaton, const Stack& stack);
Configuration start_of(const Automaton& automaton);
Configuration after_byte(const Automaton& automaton, const Configuration& from, std::uint8_t byte);

}  // namespace voltpile::llm
