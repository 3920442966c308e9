// Converts a job file to the plain data that the kernels take.
#pragma once

#include <vector>

#include "job/job_spec.h"
#include "nbody/problem.h"
#include "nbody/start_table.h"
#include "sweep/outcome_field.h"

namespace voltpile::nbody {

// Leaves frames and the table out.
Problem problem_from_job(const JobSpec& job);

// Lets numbers change from frame to frame. Returns what the problem then points to.
std::vector<double> set_frames(const JobSpec& job, Problem& problem);

// table: has a row for each point; must outlive the problem.
void set_table(const StartTable& table, Problem& problem);

// In the order of the job key output.fields.
std::vector<OutcomeField> fields_from_job(const JobSpec& job);

}  // namespace voltpile::nbody
