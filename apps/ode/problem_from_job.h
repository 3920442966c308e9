// Makes a problem of a job file.
#pragma once

#include <string>
#include <vector>

#include "job/job_spec.h"
#include "ode/step_graph.h"
#include "sweep/outcome_field.h"

namespace voltpile::ode {

// Everything that a kernel needs. Not to be copied or moved: the problem points to its members.
struct JobProblem {
    explicit JobProblem(const JobSpec& job);
    JobProblem(const JobProblem&) = delete;
    JobProblem& operator=(const JobProblem&) = delete;

    Model model;
    Integration integration;
    System system;
    std::vector<SourceRegister> sources;

    const Problem& problem() const { return system.problem; }
};

Integration integration_from_job(const JobSpec& job);

// Returns the fields of the result: the outputs, then t_final, steps, status and lyapunov.
std::vector<OutcomeField> fields_of(const JobProblem& of);

// Reports what is wrong with a job.
void check_job(const JobSpec& job, const ReportProblem& report);

}  // namespace voltpile::ode
