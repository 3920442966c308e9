// What the keys of [model] and [engine] say, in the types of the layers below, and plans of such jobs.
#pragma once

#include <string>
#include <vector>

#include "job/job_spec.h"
#include "llm/replica/replica_plan.h"
#include "llm/session/language_model.h"

namespace voltpile::llm {

// Returns the model that the job names, by its path as it is found. Throws FileError that says how to do
// without if there is no such file. world: all ranks call; nullptr: one process without MPI.
ModelChoice model_of_job(const JobSpec& job, const Communicator* world);

// The same for the draft model: its path; empty if the job names none.
std::string draft_of_job(const JobSpec& job, const Communicator* world);

// Returns the model's name for people: its path, or "synthetic tiny q8_0".
std::string model_text(const JobSpec& job);

// Returns the replicas that [engine] asks for. engine.context = 0 stays 0.
ReplicaRequest replica_request_of(const JobSpec& job);

// Plans as plan_replica() does, on the devices of `options`, and adds notes about the memory. Messages name
// the job's keys instead of options.
ReplicaPlan plan_job_replica(const JobSpec& job, const ModelSource& model, ReplicaRequest request,
                             const PlanOptions& options, const Topology& topology, const Workload& work);

// Returns the multiplications of a weight with an activation for one token.
double products_per_token(const ModelSource& model);

}  // namespace voltpile::llm
