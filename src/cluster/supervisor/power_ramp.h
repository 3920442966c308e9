// Finds the moment at which the GPUs of a node began to draw much more power, all at once.
#pragma once

#include <deque>
#include <optional>

#include "machine/node_sample.h"

namespace voltpile {

struct PowerRamp {
    double time_s = 0;  // since 1970-01-01 00:00 UTC: when it was complete
    int gpus = 0;       // that took part
};

// Returns the last ramp before until_s: between two samples at most two seconds apart at least half of the
// GPUs, and more than one, drew 60 W more each. Empty without a ramp.
std::optional<PowerRamp> last_ramp(const std::deque<NodeSample>& samples, double until_s);

}  // namespace voltpile
