// The equations of a job as a class of C++ that computes one point.
#pragma once

#include <string>

#include "ode/problem.h"

namespace voltpile::ode {

// Returns `struct Equations`, as PointMotion takes it (point_motion.h). Numbers that all points share are
// literals in it, so another job has other code. It uses functions.h, select.h and parameter_source.h.
std::string point_source(const Problem& problem);

}  // namespace voltpile::ode
