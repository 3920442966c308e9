// Measures what a run takes besides computing, for `voltpile calibrate`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plan/topology.h"

namespace voltpile::cli {

// Runs a job of a single point a few times, in processes of their own, with results in a new folder under
// `place` that it removes. Call it before MPI starts: its variables would confuse them. device: of the job,
// "cpu" or "gpu"; processor: its name in the rates. Throws MachineError if a run fails.
std::vector<MeasuredRate> measure_run(const std::filesystem::path& place, const std::string& device,
                                      const std::string& processor);

}  // namespace voltpile::cli
