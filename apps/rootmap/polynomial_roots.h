// The roots of a polynomial, for naming the one that a point reaches.
#pragma once

#include "rootmap/problem.h"

namespace voltpile::rootmap {

// Returns the different roots, by rising angle in [0, 2 pi), then by size; a multiple root once. tolerance:
// of the iteration that will seek them. The degree must be at least 1.
RootList find_roots(const Polynomial& polynomial, double tolerance);

}  // namespace voltpile::rootmap
