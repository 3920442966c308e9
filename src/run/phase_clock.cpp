#include "run/phase_clock.h"

#include <algorithm>

namespace voltpile {

PhaseStates PhaseClock::read(double now_s) {
    PhaseStates states;
    for (std::size_t phase = 0; phase < kPhases; ++phase) {
        states[phase].steps = phase_detail::counters[phase].steps.load(std::memory_order_relaxed);
        states[phase].threads = phase_detail::counters[phase].threads.load(std::memory_order_relaxed);
    }
    const bool suspended = now_s - last_read_s_ > longest_pause_s;
    last_read_s_ = now_s;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        const phase_detail::Slot& slot = phase_detail::slots[i];
        if (!slot.taken.load(std::memory_order_relaxed)) continue;
        Seen& seen = threads_[i];
        const int phase = slot.phase.load(std::memory_order_relaxed);
        const std::int64_t steps = slot.steps.load(std::memory_order_relaxed);
        if (suspended || phase != seen.phase || steps != seen.steps) seen = {phase, steps, now_s};
        if (phase < 0) continue;
        double& still = states[static_cast<std::size_t>(phase)].still_s;
        still = std::max(still, now_s - seen.moved_s);
    }
    return states;
}

}  // namespace voltpile
