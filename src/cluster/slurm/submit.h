// `voltpile submit`: from a job file to a job in Slurm's queue.
#pragma once

#include <span>

#include "cluster/slurm/submit_request.h"
#include "run/app.h"

namespace voltpile {

// Plans the job for the cluster at hand and submits it, or prints the script that it would submit to stdout
// (dry_run); what the user should know goes to stderr then. Submits nothing if the result is complete, and
// says so. Throws JobError (the job file, the arguments) and MachineError (does not fit, no Slurm, refused by
// sbatch); then nothing has been submitted.
void submit(const SubmitRequest& request, std::span<const AppEntry> apps);

}  // namespace voltpile
