// Measures for how long the threads of this process have stood still in their phases.
#pragma once

#include <vector>

#include "base/phase.h"

namespace voltpile {

class PhaseClock {
  public:
    // A process that has not read for this long was suspended itself.
    static constexpr double longest_pause_s = 2;

    // Returns the phases of this process now. Call it several times a second: the time of each thread begins
    // when a call sees it move, and that of all threads after a longer pause. now_s: rises.
    PhaseStates read(double now_s);

  private:
    struct Seen {
        int phase = -1;
        std::int64_t steps = -1;
        double moved_s = 0;
    };
    std::vector<Seen> threads_ = std::vector<Seen>(phase_detail::slots.size());
    double last_read_s_ = 0;
};

}  // namespace voltpile
