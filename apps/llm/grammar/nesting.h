// How deep texts must nest to satisfy a grammar, so that the limit on nesting never leaves a text without an
// end.
#pragma once

#include <vector>

#include "llm/grammar/automaton.h"

namespace voltpile::llm {

// Returns for each state how many more rules must be nested at once, at least, on the way to the end of its
// rule.
std::vector<int> nesting_needed(const Automaton& automaton);

}  // namespace voltpile::llm
