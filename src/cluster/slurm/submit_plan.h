// Plans what a job requests from Slurm, before it is submitted. Pure: the same input gives the same plan.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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
    double estimate_s = 0;           // of one array element or of the job
    int array = 0;                   // elements; 0: no array
    int memory_mb = 0;               // on each node
    std::vector<std::string> notes;  // for the user: the basis of the estimate and more
};

// Plans the job for a topology; may throw what DescribedJob::plan throws.
using Planner = std::function<Plan(const Topology&)>;

// What a job does until it ends.
struct JobExtent {
    std::int64_t points = 0;            // to compute
    std::optional<double> stop_s = {};  // of a service, which has no points: its time to stop, in seconds
};

// Plans the submission. Throws JobError for a wrong request, MachineError for one that does not fit.
SubmitPlan plan_submission(const SubmitRequest& request, const JobSpec& job, const JobExtent& extent,
                           const SlurmMachine& machine, const NodeSpeeds& speeds, const Planner& planner);

}  // namespace voltpile
