// Estimates what a run takes besides computing: its start and its end, which short runs feel.
#pragma once

#include "plan/plan.h"

namespace voltpile {

// Sets start_s and end_s: as `voltpile calibrate` measured them on the slowest host, else typical
// values. The plan's ranks must be assigned.
void estimate_start_and_end(Plan& plan);

}  // namespace voltpile
