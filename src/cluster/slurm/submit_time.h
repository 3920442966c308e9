// How long a batch job may run, and how long before its limit it is told to stop.
#pragma once

#include <optional>

namespace voltpile {

struct TimeNeeds {
    double estimate_s = 0;          // of the work
    double range_s = 0;             // the longest that a rank is busy with one range
    double max_time_s = 0;          // of the partition; may be infinite
    std::optional<double> asked_s;  // --time
};

struct TimePlan {
    double limit_s = 0;        // may be infinite
    double signal_lead_s = 0;  // for sbatch --signal
    double lives = 1;          // how often the job will have to start, if the estimate is right
};

// A job that does not fit into max_time_s gets several lives. Throws MachineError if more than max_time_s is
// asked for, or if a life is too short for anything to be finished in it.
TimePlan plan_time(const TimeNeeds& needs);

}  // namespace voltpile
