#include "run/stall_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace voltpile {
namespace {

constexpr std::array kOwnWork{Phase::Dispatch, Phase::Load, Phase::Compute, Phase::Commit};
constexpr std::array kWaiting{Phase::Collective, Phase::Transfer};

constexpr double kFresh_s = 3;

std::string_view phase_name(Phase phase) {
    return kPhaseNames[static_cast<std::size_t>(phase)];
}

std::string stands_text(const RankPhases& phases, Phase phase, double now_s) {
    return fmt::format("{} has not moved for {:.0f} s (step {})", phase_name(phase),
                       now_s - phases.moved_s(phase), phases.at(phase).steps);
}

// What a rank is doing while others wait for it.
std::string own_work_text(const RankPhases& phases, double now_s) {
    for (const Phase phase : {Phase::Compute, Phase::Load, Phase::Commit})
        if (phases.active(phase)) return stands_text(phases, phase, now_s);
    return fmt::format("it is in no phase (compute is at step {})", phases.at(Phase::Compute).steps);
}

}  // namespace

void RankPhases::see(const PhaseStates& states, double now_s) {
    for (std::size_t phase = 0; phase < kPhases; ++phase)
        moved_s_[phase] = now_s - (states[phase].threads > 0 ? states[phase].still_s : 0);
    states_ = states;
}

double RankPhases::worked_s() const {
    double last = 0;
    for (const Phase phase : {Phase::Compute, Phase::Load, Phase::Commit})
        if (active(phase)) last = std::max(last, moved_s(phase));
    return last;
}

StallJudge::StallJudge(std::vector<int> teams, WatchdogDeadlines deadlines)
    : teams_(std::move(teams)),
      deadlines_(deadlines),
      silence_(static_cast<int>(teams_.size()), deadlines.silent),
      phases_(teams_.size()),
      known_(teams_.size()),
      given_up_(teams_.size()),
      gone_s_(teams_.size()) {}

void StallJudge::sees(int rank, const PhaseStates& states, double now_s) {
    known_[static_cast<std::size_t>(rank)] = true;
    phases_[static_cast<std::size_t>(rank)].see(states, now_s);
}

void StallJudge::gone(int rank, double now_s) {
    std::optional<double>& since = gone_s_[static_cast<std::size_t>(rank)];
    if (!since) since = now_s;
}

void StallJudge::forget(int rank) {
    silence_.forget(rank);
    known_[static_cast<std::size_t>(rank)] = false;
}

void StallJudge::give_up_team(int rank) {
    const int team = teams_[static_cast<std::size_t>(rank)];
    given_up_[static_cast<std::size_t>(rank)] = true;
    for (std::size_t other = 0; team >= 0 && other < teams_.size(); ++other)
        if (teams_[other] == team) given_up_[other] = true;
}

std::optional<HungRank> StallJudge::look(double now_s) {
    for (std::size_t rank = 0; rank < gone_s_.size(); ++rank)
        if (silence_.expects(static_cast<int>(rank)) && gone_s_[rank] &&
            now_s - *gone_s_[rank] >= deadlines_.gone)
            return HungRank{static_cast<int>(rank),
                            fmt::format("is gone: its process ended {:.0f} s ago", now_s - *gone_s_[rank]),
                            false};
    if (const auto silent = silence_.silent(now_s))
        return HungRank{*silent,
                        fmt::format("has been silent for {:g} s: its process is suspended, its node is down "
                                    "or the link to it is cut",
                                    deadlines_.silent),
                        false};
    const auto ranks = static_cast<int>(teams_.size());
    for (int rank = 0; rank < ranks; ++rank)
        if (judges(rank))
            if (auto hung = stands_still(rank, now_s)) return hung;
    for (int rank = 0; rank < ranks; ++rank)
        if (judges(rank))
            if (auto hung = waits_in_vain(rank, now_s)) return hung;
    return std::nullopt;
}

std::optional<HungRank> StallJudge::stands_still(int rank, double now_s) const {
    const RankPhases& mine = phases(rank);
    for (const Phase phase : kOwnWork)
        if (mine.active(phase) && now_s - mine.moved_s(phase) > deadlines_.of(phase))
            return HungRank{rank, stands_text(mine, phase, now_s)};
    return std::nullopt;
}

std::optional<HungRank> StallJudge::waits_in_vain(int rank, double now_s) const {
    const RankPhases& mine = phases(rank);
    if (silence_.quiet_s(rank, now_s) > kFresh_s) return std::nullopt;
    for (const Phase phase : kWaiting) {
        const double deadline = deadlines_.of(phase);
        if (!mine.active(phase) || now_s - mine.moved_s(phase) <= deadline) continue;
        int culprit = rank;
        for (int other = 0; other < static_cast<int>(teams_.size()); ++other) {
            if (other == rank || !knows(other)) continue;
            if (teams_[static_cast<std::size_t>(other)] != teams_[static_cast<std::size_t>(rank)]) continue;
            // What it said is old: it may be the one that is suspended.
            if (silence_.quiet_s(other, now_s) > kFresh_s) return std::nullopt;
            const RankPhases& theirs = phases(other);
            if (!theirs.waits()) {
                // A rank that works lets the others wait.
                if (now_s - theirs.worked_s() <= deadline && theirs.worked_s() > 0) return std::nullopt;
                if (phases(culprit).waits() || theirs.worked_s() < phases(culprit).worked_s())
                    culprit = other;
            } else if (phase == Phase::Transfer && theirs.active(Phase::Collective) &&
                       now_s - theirs.moved_s(Phase::Collective) <= deadline) {
                return std::nullopt;  // another stage moves
            } else if (phases(culprit).waits() && theirs.at(phase).steps < phases(culprit).at(phase).steps) {
                culprit = other;
            }
        }
        const RankPhases& blamed = phases(culprit);
        if (!blamed.waits())
            return HungRank{culprit, fmt::format("{} while rank {} waits for it ({}, step {})",
                                                 own_work_text(blamed, now_s), rank, phase_name(phase),
                                                 mine.at(phase).steps)};
        const Phase where = blamed.active(Phase::Collective) ? Phase::Collective : Phase::Transfer;
        return HungRank{culprit, stands_text(blamed, where, now_s) + ", and all ranks of its team wait"};
    }
    return std::nullopt;
}

}  // namespace voltpile
