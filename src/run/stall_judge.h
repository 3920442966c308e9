// Decides from what the ranks say of themselves which of them hangs. Pure: the time comes in with the calls.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/phase.h"
#include "job/watchdog_keys.h"
#include "run/silence_clock.h"

namespace voltpile {

// The phases of a rank, and when the thread of each that has not moved for longest last moved.
class RankPhases {
  public:
    void see(const PhaseStates& states, double now_s);

    const PhaseState& at(Phase phase) const { return states_[static_cast<std::size_t>(phase)]; }
    double moved_s(Phase phase) const { return moved_s_[static_cast<std::size_t>(phase)]; }
    bool active(Phase phase) const { return at(phase).threads > 0; }
    // In a collective or a transfer.
    bool waits() const { return active(Phase::Collective) || active(Phase::Transfer); }
    // When it last came further in what it does itself.
    double worked_s() const;

  private:
    PhaseStates states_{};
    std::array<double, kPhases> moved_s_{};
};

struct HungRank {
    int rank = 0;
    std::string why;      // "compute has not moved for 60 s (step 4711)", "has been silent for 15 s"
    bool answers = true;  // false: it is silent or gone
};

class StallJudge {
  public:
    // teams: of each rank, by rank; -1: in none. No rank is watched until it is heard.
    StallJudge(std::vector<int> teams, WatchdogDeadlines deadlines);

    // A sign of life from the rank.
    void heard(int rank, double now_s) { silence_.heard(rank, now_s); }
    // What it says of itself.
    void sees(int rank, const PhaseStates& states, double now_s);
    // Its process has ended; only the first call for a rank counts.
    void gone(int rank, double now_s);
    // It has ended in order or is known to be lost: it need not give signs of life any more.
    void forget(int rank);
    // Its team can do nothing without it: what the ranks of the team say of themselves no longer counts.
    void give_up_team(int rank);
    bool expects(int rank) const { return silence_.expects(rank); }

    // Returns a rank that hangs, the same at each call until it is forgotten. Call it several times a second;
    // after a longer pause this process was suspended itself, and all deadlines begin anew.
    std::optional<HungRank> look(double now_s);

    const RankPhases& phases(int rank) const { return phases_[static_cast<std::size_t>(rank)]; }
    // Whether the rank has said something of itself.
    bool knows(int rank) const { return known_[static_cast<std::size_t>(rank)]; }

  private:
    bool judges(int rank) const { return knows(rank) && !given_up_[static_cast<std::size_t>(rank)]; }
    std::optional<HungRank> stands_still(int rank, double now_s) const;
    std::optional<HungRank> waits_in_vain(int rank, double now_s) const;

    std::vector<int> teams_;
    WatchdogDeadlines deadlines_;
    SilenceClock silence_;
    std::vector<RankPhases> phases_;
    std::vector<bool> known_, given_up_;
    std::vector<std::optional<double>> gone_s_;
};

}  // namespace voltpile
