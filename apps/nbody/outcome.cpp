#include "nbody/outcome.h"

#include "nbody/outcome_of.h"

namespace voltpile::nbody {

Outcome outcome_of(const Problem& problem, std::int64_t point, const PathEnd& end) {
    return compute_outcome(problem, point, end);
}

}  // namespace voltpile::nbody
