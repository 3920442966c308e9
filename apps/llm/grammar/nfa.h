// The nondeterministic automaton of an expression (K. Thompson, 1968), a step on the way to a Dfa.
#pragma once

#include <vector>

#include "llm/grammar/dfa.h"
#include "llm/grammar/expression.h"

namespace voltpile::llm {

struct Nfa {
    struct Edge {
        int set;   // index into `sets`, or -1: calls `rule`
        int rule;  // -1: reads a byte
        int target;
    };
    struct State {
        std::vector<Edge> edges;
        std::vector<int> free;  // states reached without reading
    };
    std::vector<State> states;
    std::vector<ByteSet> sets;  // each once
    int start = 0;
    int end = 0;
};

// Throws JobError if it exceeds the limit.
Nfa to_nfa(const Expression& expression, WorkLimit& limit);

}  // namespace voltpile::llm
