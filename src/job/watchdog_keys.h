// The table [watchdog] of the job file: how long a rank may be silent or stand still.
#pragma once

#include <array>
#include <vector>

#include "base/phase.h"
#include "job/job_spec.h"
#include "job/key_spec.h"

namespace voltpile {

// Seconds. The members' values are the defaults of the keys.
struct WatchdogDeadlines {
    double silent = 15;                                            // of a rank that gives no sign of life
    double gone = 5;                                               // of a rank whose process has ended
    std::array<double, kPhases> phases{60, 300, 60, 15, 15, 120};  // without a step, by Phase

    double of(Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
};

// Returns the rows of the table of keys.
std::vector<KeySpec> watchdog_keys();

WatchdogDeadlines watchdog_deadlines(const JobSpec& job);

}  // namespace voltpile
