// The end of a job on rank 0, after all ranks have committed what they computed.
#pragma once

#include <filesystem>
#include <optional>

#include "results/parts/background_consolidation.h"
#include "run/forced_stop.h"
#include "run/job_loop.h"
#include "run/result_stores.h"
#include "run/runner.h"

namespace voltpile {

// Gathers the parts, writes the result and removes the part folder, or prints how far the job has come.
// Prints the summary. Disarms `forced_stop` once the result is committed. Returns Done or Stopped. Throws
// Error; all that was computed is kept.
ExitCode finish_job(const PreparedJob& job, const RunOptions& options, const std::filesystem::path& result,
                    const ResultLayout& layout, const LoopOutcome& outcome, ResultStores& stores,
                    std::optional<BackgroundConsolidation>& consolidation, ForcedStop& forced_stop);

}  // namespace voltpile
