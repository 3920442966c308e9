// What ends the rendering of a template before its end: an error in it, or the limits on what it may cost.
// Templates come with models, so nobody has checked them.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace voltpile::llm::jinja {

// The template cannot be parsed or rendered. Whoever catches it knows the template's name and line.
struct Problem : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The template called raise_exception().
struct Refusal : Problem {
    using Problem::Problem;
};

inline constexpr std::size_t kMostSourceBytes = 1 << 20;  // of a template
inline constexpr int kMostExpressionHeight = 200;         // of a syntax tree
inline constexpr int kMostParserDepth = 500;              // of recursion, through expressions and blocks
inline constexpr int kMostNesting = 1000;                 // of evaluation, through macros and loops
inline constexpr int kMostValueDepth = 100;               // of lists and maps in each other
inline constexpr std::size_t kBudget = std::size_t{512} << 20;
inline constexpr std::size_t kStepCost = 16;     // of the budget, for each node that is evaluated
inline constexpr std::size_t kElementCost = 32;  // for each element of a list or a map

// The work that one rendering may do. Each byte of a text that it makes or looks at costs one unit, so the
// budget limits both time (seconds) and memory (2 GiB).
class Budget {
  public:
    void spend(std::size_t units) {
        if (units > left_) throw Problem("it takes too many steps or too much memory");
        left_ -= units;
    }

  private:
    std::size_t left_ = kBudget;
};

}  // namespace voltpile::llm::jinja
