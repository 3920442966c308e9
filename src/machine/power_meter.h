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

// Not from the GPUs' energy counters: they rise only ten times a second, which is a third of the energy of
// 0.3 s.
class PowerMeter {
  public:
    // Takes the samples in order, about ten a second. Returns nothing for the first one, and if a GPU does
    // not say what it draws.
    std::optional<PowerReading> read(const NodeSample& sample);

  private:
    struct Point {
        double time_s;
        double watts;
    };
    std::deque<Point> points_;  // of the window
};

}  // namespace voltpile
