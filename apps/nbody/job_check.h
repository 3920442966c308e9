// Rejects n-body jobs whose values make no sense together.
#pragma once

#include "job/key_spec.h"

namespace voltpile::nbody {

void check_job(const JobSpec& job, const ReportProblem& report);

}  // namespace voltpile::nbody
