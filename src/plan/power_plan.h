// What a job's [power] means for the hosts of a plan.
#pragma once

#include "job/power_keys.h"
#include "plan/plan.h"

namespace voltpile {

// Adds a note with the settings, and a warning for each kind of host that could draw more than its supply
// delivers: by the description's `watts`, or else by the power limits of its GPUs and power.other_w.
void add_power(Plan& plan, const PowerRequest& power);

}  // namespace voltpile
