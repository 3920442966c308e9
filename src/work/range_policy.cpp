#include "work/range_policy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace voltpile {
namespace {

// A range is at least this part of the longest: in shorter ones the commit (some milliseconds) would cost
// time.
constexpr double shortest_part = 1.0 / 20;
// It may be shorter if it is this part of the team's fair share of the whole sweep: with fewer ranges the
// teams of a sweep of a second would not finish together.
constexpr double shortest_share = 1.0 / 8;
// Before a team's speed is known its ranges are short: the estimate counts the steps of a point but not the
// fixed cost of a point, so for points of few steps it can be a hundred times too high.
constexpr double unmeasured_part = 1.0 / 8;
// With several teams each gets this part of its fair share of the remaining points, so that enough is left to
// balance the end.
constexpr double share_of_rest = 1.0 / 2;

}  // namespace

RangePolicy::RangePolicy(RangeSet todo, std::vector<double> points_per_s, RangeLimits limits)
    : todo_(std::move(todo)),
      all_points_(static_cast<double>(todo_.size())),
      points_per_s_(std::move(points_per_s)),
      measured_(points_per_s_.size()),
      limits_(limits) {}

std::optional<WorkRange> RangePolicy::next(int team) {
    if (todo_.empty()) return std::nullopt;
    const auto index = static_cast<std::size_t>(team);
    const double speed = points_per_s_[index];
    const double all = std::accumulate(points_per_s_.begin(), points_per_s_.end(), 0.0);
    const double longest = speed * limits_.range_seconds;
    const double share = static_cast<double>(todo_.size()) * speed / all;
    const bool several = std::ranges::count_if(points_per_s_, [](double each) { return each > 0; }) > 1;
    double points = several ? share * share_of_rest : share;
    points = std::max(points, std::min(longest * shortest_part, all_points_ * speed / all * shortest_share));
    const double usual = measured_[index] ? longest : longest * unmeasured_part;
    const double least = limits_.side_by_side.empty() ? 1 : static_cast<double>(limits_.side_by_side[index]);
    points = std::min(points, std::max(usual, least));
    auto count = static_cast<std::int64_t>(std::min(std::ceil(points), 9e18));
    if (limits_.max_points > 0) count = std::min(count, limits_.max_points);
    return todo_.take_front(std::max<std::int64_t>(count, 1));
}

void RangePolicy::set_speed(int team, double points_per_s) {
    if (!(points_per_s > 0) || !std::isfinite(points_per_s)) return;
    points_per_s_[static_cast<std::size_t>(team)] = points_per_s;
    measured_[static_cast<std::size_t>(team)] = true;
}

}  // namespace voltpile
