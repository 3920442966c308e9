#include "work/range_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <vector>

using namespace voltpile;

namespace {

// Lets teams of given true speeds take ranges until none is left; returns when each finished its last one.
struct Simulation {
    std::vector<double> finished_s;
    std::vector<std::int64_t> sizes;
    RangeSet handed_out;
};

Simulation simulate(std::int64_t points, const std::vector<double>& estimates,
                    const std::vector<double>& speeds, RangeLimits limits) {
    Simulation out;
    out.finished_s.assign(speeds.size(), 0);
    std::vector<std::int64_t> done(speeds.size());
    RangePolicy policy(RangeSet({0, points}), estimates, limits);
    using Event = std::pair<double, int>;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    for (std::size_t team = 0; team < speeds.size(); ++team) events.push({0.0, static_cast<int>(team)});
    while (!events.empty()) {
        const auto [now, team] = events.top();
        events.pop();
        const auto index = static_cast<std::size_t>(team);
        if (now > 0) policy.set_speed(team, static_cast<double>(done[index]) / now);
        const auto range = policy.next(team);
        if (!range) continue;
        EXPECT_FALSE(out.handed_out.overlaps(*range));
        out.handed_out.insert(*range);
        out.sizes.push_back(range->size());
        done[index] += range->size();
        const double end = now + static_cast<double>(range->size()) / speeds[index];
        out.finished_s[index] = end;
        events.push({end, team});
    }
    return out;
}

}  // namespace

TEST(RangePolicy, HandsOutEveryPointOnce) {
    const auto run = simulate(100'003, {10, 20, 30}, {10, 20, 30}, {2.0, 0});
    EXPECT_EQ(run.handed_out.ranges(), (std::vector<WorkRange>{{0, 100'003}}));
}

TEST(RangePolicy, FinishesUnequalProcessorsTogether) {
    // A GPU of an RTX 3060 beside a 1060 beside eight cores, with estimates that are off by a factor of two
    // each way.
    const std::vector<double> speeds{8000, 1000, 250};
    const auto run = simulate(2'000'000, {4000, 2000, 250}, speeds, {2.0, 0});
    const auto [first, last] = std::minmax_element(run.finished_s.begin(), run.finished_s.end());
    const double ideal = 2'000'000 / (8000.0 + 1000 + 250);
    // The shortest range takes 0.1 s: no rank can finish much later than that after the others.
    EXPECT_LT(*last - *first, 0.3);
    EXPECT_LT(*last, ideal + 0.3);
}

TEST(RangePolicy, ShrinksRangesTowardsTheEnd) {
    const auto run = simulate(1'000'000, {1000, 1000}, {1000, 1000}, {20.0, 0});
    const auto largest = *std::max_element(run.sizes.begin(), run.sizes.end());
    EXPECT_LE(run.sizes.back(), largest / 8);
    EXPECT_LE(largest, 20'000);  // never longer than range_seconds
}

TEST(RangePolicy, RespectsTheMaximumNumberOfPoints) {
    const auto run = simulate(1000, {1e6}, {1e6}, {2.0, 7});
    for (std::int64_t size : run.sizes) EXPECT_LE(size, 7);
    EXPECT_EQ(run.sizes.size(), 143u);  // 142 x 7 + 6
}

// A GPU computes 1,000 points in 5 s, and one point, too: shorter ranges would take as long.
TEST(RangePolicy, KeepsALaneBusyOnPointsThatTakeLongerThanARange) {
    RangePolicy policy(RangeSet({0, 100'000}), {1000}, {2.0, 0, {1000}});
    for (int i = 0; i < 20; ++i) {
        const auto range = policy.next(0);
        ASSERT_TRUE(range);
        EXPECT_GE(range->size(), 1000);
        policy.set_speed(0, static_cast<double>(range->size()) / 5);
    }
    // Teams still share what is left.
    RangePolicy two(RangeSet({0, 1000}), {100, 100}, {2.0, 0, {1000, 1000}});
    EXPECT_LE(two.next(0)->size(), 250);
}

TEST(RangePolicy, SkipsCompletedPoints) {
    RangeSet todo;
    todo.insert({5, 6});
    todo.insert({8, 10});
    RangePolicy policy(todo, {1e9}, {2.0, 0});
    EXPECT_EQ(policy.next(0), (WorkRange{5, 6}));
    EXPECT_EQ(policy.next(0), (WorkRange{8, 10}));
    EXPECT_FALSE(policy.next(0));
}

TEST(RangePolicy, NeverGivesEmptyRangesForAbsurdSpeeds) {
    RangePolicy policy(RangeSet({0, 3}), {1e-300, 1e300}, {1e-9, 0});
    policy.set_speed(0, 0);                                         // ignored
    policy.set_speed(0, std::numeric_limits<double>::quiet_NaN());  // ignored
    EXPECT_EQ(policy.next(0)->size(), 1);
    EXPECT_GE(policy.next(1)->size(), 1);
}

// One team of four ranks, whose first rank requests work: its ranges are those of a single team.
TEST(RangePolicy, GivesRanksWithoutSpeedNoShare) {
    RangePolicy alone(RangeSet({0, 1000}), {10}, {100, 0});
    RangePolicy team(RangeSet({0, 1000}), {10, 0, 0, 0}, {100, 0});
    alone.set_speed(0, 10);
    team.set_speed(0, 10);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(team.next(0), alone.next(0));
}

// Four GPUs share a sweep that takes them 0.11 s: equal first ranges, and no GPU waits long for the last one.
TEST(RangePolicy, BalancesASweepMuchShorterThanOneRange) {
    const std::vector<double> speeds(4, 2.3e6);
    const auto run = simulate(1'000'000, speeds, speeds, {2.0, 0});
    EXPECT_EQ(run.sizes.front(), 125'000);  // half of a fair share
    const auto [first, last] = std::minmax_element(run.finished_s.begin(), run.finished_s.end());
    EXPECT_LT(*last, 1.15 * 1'000'000 / (4 * 2.3e6));
    EXPECT_LE(run.sizes.size(), 4u * 16);  // each costs a commit
}

// An estimate can be a hundred times too high: the first range then takes a few times range_seconds.
TEST(RangePolicy, KeepsRangesShortUntilTheSpeedIsMeasured) {
    RangePolicy policy(RangeSet({0, 1'000'000'000}), {1e6, 1e6}, {2.0, 0});
    EXPECT_EQ(policy.next(0)->size(), 250'000);
    policy.set_speed(0, 1e4);
    EXPECT_EQ(policy.next(0)->size(), 20'000);
    EXPECT_EQ(policy.next(1)->size(), 250'000);
}
