// Submits a job file to Slurm's queue: `voltpile submit`.
#pragma once

#include <span>

#include "cluster/slurm/submit_request.h"
#include "run/app.h"

namespace voltpile {

// Plans the job for the cluster and submits it. dry_run: prints the batch script to stdout and everything
// else to stderr, and submits nothing. If the result is complete, says so and submits nothing. Throws
// JobError (wrong job file or arguments) and MachineError (the job does not fit, no Slurm, rejected by
// sbatch); then nothing has been submitted.
void submit(const SubmitRequest& request, std::span<const AppEntry> apps);

}  // namespace voltpile
