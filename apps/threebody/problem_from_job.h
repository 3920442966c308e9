// Converts a job file to the plain data that the kernels take.
#pragma once

#include <vector>

#include "job/job_spec.h"
#include "threebody/outcome_fields.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

Problem problem_from_job(const JobSpec& job);

// In the order of the job key output.fields.
std::vector<OutcomeField> fields_from_job(const JobSpec& job);

}  // namespace voltpile::threebody
