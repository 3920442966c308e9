// Who made a result, from what and on what: the root attributes of its file.
#pragma once

#include <string>

#include "plan/plan.h"
#include "results/result_layout.h"

namespace voltpile {

// Returns the provenance of this process, now. The caller adds the number of the job's lives.
Provenance make_provenance(const Plan& plan, const std::string& command_line);

// "3 hosts (t181-1, t181-2, t181-3): 12x Tesla V100-SXM2-16GB" ...
std::string machine_text(const Plan& plan);

}  // namespace voltpile
