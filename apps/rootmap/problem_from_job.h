// Converts a job file to the plain data that the kernels take.
#pragma once

#include <vector>

#include "job/job_spec.h"
#include "rootmap/problem.h"
#include "sweep/outcome_field.h"

namespace voltpile::rootmap {

// Throws PolynomialError.
Polynomial polynomial_from_job(const JobSpec& job);

// Returns the squared length above which a number of the precision is not finite.
double largest_measure(Precision precision);

// Its orbit and its frames are not set: all frames are frame 0.
Problem problem_from_job(const JobSpec& job);

// Sets the frames of the job. Returns the numbers that the problem then points to.
std::vector<double> set_frames(const JobSpec& job, Problem& problem);

// Returns the orbit that the job's precision needs, which has to outlive the problem, and sets it there;
// empty without Precision::Perturbation.
std::vector<double> set_orbit(const JobSpec& job, Problem& problem);

// In the order of the job key output.fields. problem: problem_from_job(job).
std::vector<OutcomeField> fields_from_job(const JobSpec& job, const Problem& problem);

}  // namespace voltpile::rootmap
