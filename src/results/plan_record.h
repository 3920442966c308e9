// What the plan expected of the run that completed a result, beside what was measured. The result keeps it as
// the group /plan (docs/result_file.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace voltpile {

// A quantity as the plan estimated it and as it was measured; NaN: unknown.
struct PlannedValue {
    double planned = std::numeric_limits<double>::quiet_NaN();
    double measured = std::numeric_limits<double>::quiet_NaN();
};

struct RankRecord {
    std::string processor;     // "GPU 0 (Tesla V100-SXM2-16GB) of t181-1"
    PlannedValue units_per_s;  // over the whole run
    PlannedValue host_bytes;   // of the process; measured: the most that was resident
    PlannedValue gpu_bytes;    // of the rank's GPU; measured: in use by all processes at the end
    double busy_seconds = 0;   // during which the processor computed
};

struct PlanRecord {
    std::string unit;            // of work, in the plural: "pair-steps"
    std::int64_t points = 0;     // that this run computed; earlier runs computed the others
    PlannedValue seconds;        // from the first to the last range
    PlannedValue start_seconds;  // from the start of rank 0's process to the first range
    PlannedValue end_seconds;    // from the last range to the end of the processes; never measured
    PlannedValue units;          // of work, for these points
    PlannedValue joules;         // of all hosts
    std::vector<RankRecord> ranks;
};

// Returns the record of a complete result; nothing if it has none, or is not a complete result. Throws
// FileError if it cannot read it.
std::optional<PlanRecord> read_plan_record(const std::filesystem::path& result);

// Returns a table of what was planned and measured, indented by two spaces, as `voltpile show` prints it.
std::string plan_record_text(const PlanRecord& record);

}  // namespace voltpile
