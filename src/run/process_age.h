// How long this process has been running.
#pragma once

namespace voltpile {

// Returns seconds, to a hundredth, since the kernel started this process; 0 if it does not say.
double process_age_s();

}  // namespace voltpile
