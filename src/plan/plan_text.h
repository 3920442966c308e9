// What `voltpile plan` prints, beside to_text(Plan) of plan/plan.h.
#pragma once

#include <string>

#include "plan/plan.h"

namespace voltpile {

// Returns what --explain adds: the formulas of the estimates with their numbers.
std::string explain_text(const Plan& plan);

}  // namespace voltpile
