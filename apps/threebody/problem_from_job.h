// Converts a job file to the plain data that the kernels take.
#pragma once

#include <vector>

#include "job/job_spec.h"
#include "threebody/outcome_fields.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

// Its frames are not set: all frames are frame 0.
Problem problem_from_job(const JobSpec& job);

// Sets the frames of the job. Returns the numbers that the problem then points to.
std::vector<double> set_frames(const JobSpec& job, Problem& problem);

// In the order of the job key output.fields. problem: problem_from_job(job).
std::vector<OutcomeField> fields_from_job(const JobSpec& job, const Problem& problem);

}  // namespace voltpile::threebody
