#include "run/silence_clock.h"

namespace voltpile {

std::optional<int> SilenceClock::silent(double now_s) {
    const bool suspended = now_s - last_look_s_ > longest_look_s;
    last_look_s_ = now_s;
    for (std::size_t rank = 0; rank < heard_s_.size(); ++rank) {
        std::optional<double>& heard = heard_s_[rank];
        if (!heard) continue;
        if (suspended) heard = now_s;
        if (now_s - *heard > patience_s_) return static_cast<int>(rank);
    }
    return std::nullopt;
}

}  // namespace voltpile
