// What the GPUs of a node draw together, as means over short times, from samples of the node.
#pragma once

#include <deque>
#include <optional>

#include "machine/node_sample.h"

namespace voltpile {

struct PowerReading {
    double time_s = 0;
    double watts = 0;  // mean from time_s - window_s to time_s
    double window_s = 0;
};

class PowerMeter {
  public:
    // Takes the samples in order, about ten a second. Returns nothing for the first one, and if a GPU does
    // not say what it draws. Prefers the GPUs' energy counters (Volta and newer) to their power, which some
    // average over an unknown time.
    std::optional<PowerReading> read(const NodeSample& sample);

  private:
    struct Point {
        double time_s;
        double joules;  // by the counters
        double watts;
    };
    std::deque<Point> points_;  // of the last second
    bool counts_ = true;        // the GPUs have energy counters that rise
};

}  // namespace voltpile
