// Checks whether floating-point numbers are fine enough for a job: zooming into a map takes smaller and
// smaller shifts and spacings, until the picture shows only rounding.
#pragma once

#include <string>
#include <vector>

#include "threebody/problem.h"

namespace voltpile::threebody {

// Returns warnings for the user, to print before computing; empty if all is well.
std::vector<std::string> resolution_warnings(const Problem& problem);

}  // namespace voltpile::threebody
