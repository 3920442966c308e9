// Who made a result, from what and on what: the root attributes of its file.
#pragma once

#include <string>

#include "plan/plan.h"
#include "results/result_layout.h"

namespace voltpile {

// Of this process, now. How many lives the job has had the caller adds.
Provenance make_provenance(const Plan& plan, const std::string& command_line);

// "3 hosts (t181-1, t181-2, t181-3): 12x Tesla V100-SXM2-16GB" ...
std::string machine_text(const Plan& plan);

}  // namespace voltpile
