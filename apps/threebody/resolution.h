// Whether the numbers are fine enough for what a job asks of them: zooming into a map takes smaller and
// smaller shifts and spacings, until rounding is all there is to see.
#pragma once

#include <string>
#include <vector>

#include "threebody/problem.h"

namespace voltpile::threebody {

// For the user, before anything is computed; empty if all is well.
std::vector<std::string> resolution_warnings(const Problem& problem);

}  // namespace voltpile::threebody
