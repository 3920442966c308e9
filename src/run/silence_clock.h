// When each rank was heard last.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace voltpile {

// Pure: the time comes in with the calls.
class SilenceClock {
  public:
    // A process that has not looked for this long was suspended itself.
    static constexpr double longest_look_s = 2;

    SilenceClock(int ranks, double patience_s)
        : patience_s_(patience_s), heard_s_(static_cast<std::size_t>(ranks)) {}

    void heard(int rank, double now_s) { heard_s_[static_cast<std::size_t>(rank)] = now_s; }
    void forget(int rank) {
        heard_s_[static_cast<std::size_t>(rank)].reset();
    }  // it need not answer any more
    // How long ago it was heard; 0: it need not answer.
    double quiet_s(int rank, double now_s) const {
        return now_s - heard_s_[static_cast<std::size_t>(rank)].value_or(now_s);
    }
    bool expects(int rank) const { return heard_s_[static_cast<std::size_t>(rank)].has_value(); }

    // Returns the first rank that has been silent for longer than the patience. Call it several times a
    // second: after a longer pause this process was suspended itself, so it counts every rank as heard now.
    std::optional<int> silent(double now_s);

  private:
    double patience_s_;
    std::vector<std::optional<double>> heard_s_;  // none: not expected to answer
    double last_look_s_ = 0;
};

}  // namespace voltpile
