// Chooses the time limit of a batch job, and how long before it Slurm signals the job to stop.
#pragma once

#include <optional>

namespace voltpile {

struct TimeNeeds {
    double estimate_s = 0;              // of the work
    double range_s = 0;                 // the longest time of one range on a rank
    double max_time_s = 0;              // of the partition; may be infinite
    std::optional<double> asked_s;      // --time
    std::optional<double> stop_s = {};  // of a service: its time to stop; it has neither work nor ranges
};

struct TimePlan {
    double limit_s = 0;        // may be infinite
    double signal_lead_s = 0;  // for sbatch --signal
    double lives = 1;          // how often the job must start, if the estimate is right
};

// Splits a job that does not fit into max_time_s into several lives; a service gets as much time as there is.
// Throws MachineError if --time exceeds max_time_s or a life is too short to finish anything.
TimePlan plan_time(const TimeNeeds& needs);

}  // namespace voltpile
