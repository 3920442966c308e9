// Deterministic finite automata over bytes and calls of rules.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "llm/grammar/expression.h"

namespace voltpile::llm {

// Grammars come from users, so the work for one is bounded. Counts down over a whole compilation.
class WorkLimit {
  public:
    static constexpr std::int64_t most_states = 50'000;  // of all automata together

    // Count states made or steps taken. Throw JobError when there are too many.
    void states(std::int64_t count);
    void steps(std::int64_t count);

  private:
    std::int64_t states_left_ = most_states;
    std::int64_t steps_left_ = 100'000'000;  // about half a second
};

struct Dfa {
    struct CallEdge {
        int rule;
        int target;  // the state after the call
    };
    // Bytes of one class lead to the same states.
    std::array<std::uint8_t, 256> class_of{};
    int classes = 1;
    std::vector<int> next;                     // (states, classes); -1: none
    std::vector<std::vector<CallEdge>> calls;  // by state, at most one for each rule
    std::vector<bool> accepts;                 // by state; state 0 is the start

    int states() const { return static_cast<int>(accepts.size()); }
    int& at(int state, int byte_class) {
        return next[static_cast<std::size_t>(state) * static_cast<std::size_t>(classes) +
                    static_cast<std::size_t>(byte_class)];
    }
    int after(int state, int byte_class) const {
        return next[static_cast<std::size_t>(state) * static_cast<std::size_t>(classes) +
                    static_cast<std::size_t>(byte_class)];
    }
};

// Splits the classes so that each is within or without `set`.
void split_classes(std::array<std::uint8_t, 256>& class_of, int& classes, const ByteSet& set);
// Splits the classes so that each is within one class of `dfa`.
void split_classes(std::array<std::uint8_t, 256>& class_of, int& classes, const Dfa& dfa);

// Builds the automaton of an expression. Throws JobError if it exceeds the limit.
Dfa to_dfa(const Expression& expression, WorkLimit& limit);

// Builds the automaton of what both match, or of what `a` matches and `b` does not. Both call no rules.
enum class DfaProduct { Both, Without };
Dfa product(const Dfa& a, const Dfa& b, DfaProduct kind, WorkLimit& limit);

// Removes states that cannot be reached, or from which no end can be. can_match: whether a called rule
// matches anything. Returns false, and leaves a single state, if the automaton matches nothing.
bool trim(Dfa& dfa, const std::function<bool(int)>& can_match);

}  // namespace voltpile::llm
