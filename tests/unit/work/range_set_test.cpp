#include "work/range_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace voltpile;

TEST(RangeSet, MergesTouchingAndOverlappingRanges) {
    RangeSet set;
    set.insert({10, 20});
    set.insert({30, 40});
    set.insert({20, 25});  // touches the first
    set.insert({24, 30});  // joins both
    EXPECT_EQ(set.ranges(), (std::vector<WorkRange>{{10, 40}}));
    EXPECT_EQ(set.size(), 30);
    set.insert({12, 12});  // empty
    EXPECT_EQ(set.size(), 30);
}

TEST(RangeSet, ReturnsMissingRanges) {
    RangeSet set;
    set.insert({0, 3});
    set.insert({5, 7});
    EXPECT_EQ(set.complement({0, 10}).ranges(), (std::vector<WorkRange>{{3, 5}, {7, 10}}));
    EXPECT_EQ(RangeSet{}.complement({0, 4}).ranges(), (std::vector<WorkRange>{{0, 4}}));
    EXPECT_TRUE(RangeSet({0, 10}).complement({0, 10}).empty());
}

TEST(RangeSet, StopsTakeFrontAtGaps) {
    RangeSet set;
    set.insert({0, 3});
    set.insert({5, 9});
    EXPECT_EQ(set.take_front(2), (WorkRange{0, 2}));
    EXPECT_EQ(set.take_front(5), (WorkRange{2, 3}));
    EXPECT_EQ(set.take_front(3), (WorkRange{5, 8}));
    EXPECT_EQ(set.size(), 1);
}

// Compares with the simplest implementation: one flag per point.
TEST(RangeSet, AgreesWithFlagsOnRandomOperations) {
    std::mt19937 random(1);
    for (int trial = 0; trial < 200; ++trial) {
        RangeSet set;
        std::vector<bool> flags(60);
        for (int i = 0; i < 12; ++i) {
            const auto a = static_cast<std::int64_t>(random() % 60),
                       b = static_cast<std::int64_t>(random() % 60);
            const WorkRange range{std::min(a, b), std::max(a, b)};
            bool any = false, all = true;
            for (std::int64_t p = range.begin; p < range.end; ++p) {
                any = any || flags[static_cast<std::size_t>(p)];
                all = all && flags[static_cast<std::size_t>(p)];
            }
            EXPECT_EQ(set.overlaps(range), any);
            EXPECT_EQ(set.contains(range), all);
            set.insert(range);
            for (std::int64_t p = range.begin; p < range.end; ++p) flags[static_cast<std::size_t>(p)] = true;
            EXPECT_EQ(set.size(), std::count(flags.begin(), flags.end(), true));
        }
        const RangeSet rest = set.complement({0, 60});
        EXPECT_EQ(set.size() + rest.size(), 60);
        for (const WorkRange& range : rest.ranges()) EXPECT_FALSE(set.overlaps(range));
    }
}
