// What a job asks of Slurm, worked out before it is submitted. Pure: same input, same plan.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/slurm/machine.h"
#include "cluster/slurm/submit_layout.h"
#include "cluster/slurm/submit_request.h"
#include "cluster/slurm/submit_time.h"
#include "plan/plan.h"

namespace voltpile {

struct SubmitPlan {
    std::string job_name, partition;
    Layout layout;
    TimePlan time;
    double estimate_s = 0;           // of one array element, or of the job
    int array = 0;                   // elements; 0: no array
    int memory_mb = 0;               // of a node
    std::vector<std::string> notes;  // on what the estimate rests, and what else the user should know
};

// The job as planned for a topology; may throw what DescribedJob::plan throws.
using Planner = std::function<Plan(const Topology&)>;

// points: of the job. Throws JobError for what is wrong in the request, MachineError for what does not fit.
SubmitPlan plan_submission(const SubmitRequest& request, const JobSpec& job, std::int64_t points,
                           const SlurmMachine& machine, const NodeSpeeds& speeds, const Planner& planner);

}  // namespace voltpile
