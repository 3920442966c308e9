// The table [power] of the job file: how the GPUs of each node are held within what the node's supply can
// deliver.
#pragma once

#include <cmath>
#include <vector>

#include "job/job_spec.h"
#include "job/key_spec.h"

namespace voltpile {

// Returns the rows of the table of keys.
std::vector<KeySpec> power_keys();

// Reports keys of [power] that contradict each other or other keys.
void check_power_keys(const JobSpec& job, const ReportProblem& report);

// What [power] asks for. 0: leave as it is.
struct PowerRequest {
    double supply_w = 0;          // of each node; infinite: unlimited
    double other_w = 0;           // of each node, without its GPUs
    int ramp_ms = 0;              // from the begin of one GPU to that of the next
    double limit_w = 0;           // of each GPU
    double sm_clock_mhz = 0;      // the highest, of each GPU
    double memory_clock_mhz = 0;  // of each GPU
    bool lowers_clocks = false;   // rather than rest

    bool changes_gpus() const { return limit_w > 0 || sm_clock_mhz > 0 || lowers_clocks; }
    bool limits_supply() const { return std::isfinite(supply_w); }
    double gpu_budget_w() const { return supply_w - other_w; }  // of all GPUs of a node
};

PowerRequest power_request(const JobSpec& job);

}  // namespace voltpile
