// Whether a plan fits into the memory of its hosts and GPUs. Pure.
#pragma once

#include <span>

#include "job/job_spec.h"
#include "plan/plan.h"

namespace voltpile {

// Throws MachineError if the ranks of a host need more memory than it has, or a rank more than its GPU has.
// The message says what is short, by how much, and what would fit: of a sweep the largest grid. Hosts and
// GPUs whose memory is unknown count as large enough. axes: of the job's sweep.
void check_memory(const Plan& plan, std::span<const SweepAxis> axes);

}  // namespace voltpile
