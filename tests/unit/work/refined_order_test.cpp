// The order of a refined sweep's points against a list of them that is made by hand.
#include "work/refined_order.h"

#include <gtest/gtest.h>

#include <set>

#include "work/refined_level.h"

namespace voltpile {
namespace {

std::set<std::int64_t> lines_of(std::int64_t count, std::int64_t step) {
    std::set<std::int64_t> lines{count - 1};
    for (std::int64_t place = 0; place < count; place += step) lines.insert(place);
    return lines;
}

// The points of a sweep in their order: level by level, and in each as the flattened sweep has them.
std::vector<std::int64_t> points_in_order(std::int64_t width, std::int64_t height, std::int64_t planes,
                                          int levels) {
    std::vector<std::int64_t> points;
    std::set<std::int64_t> done;
    for (int level = 0; level <= levels; ++level) {
        const auto xs = lines_of(width, 1 << (levels - level)), ys = lines_of(height, 1 << (levels - level));
        for (std::int64_t plane = 0; plane < planes; ++plane)
            for (const std::int64_t y : ys)
                for (const std::int64_t x : xs) {
                    const std::int64_t point = (plane * height + y) * width + x;
                    if (done.insert(point).second) points.push_back(point);
                }
    }
    return points;
}

TEST(RefinedOrder, HasEachPointOnceInTheOrderOfLevels) {
    for (const std::int64_t width : {1, 2, 3, 8, 9, 21})
        for (const std::int64_t height : {1, 2, 5, 16, 17})
            for (const std::int64_t planes : {1, 3})
                for (const int levels : {1, 2, 3, 6}) {
                    const RefinedOrder order({width, height, planes}, levels);
                    const auto expected = points_in_order(width, height, planes, levels);
                    ASSERT_EQ(std::ssize(expected), order.points());
                    for (int level = 0; level <= levels; ++level) {
                        const WorkRange range = order.level_range(level);
                        std::vector<std::int64_t> points;
                        order.for_each(level, range, [&](std::int64_t point) { points.push_back(point); });
                        ASSERT_EQ(points,
                                  std::vector(expected.begin() + range.begin, expected.begin() + range.end));
                        for (std::int64_t at = range.begin; at < range.end; ++at) {
                            const std::int64_t point = order.point_at(at);
                            ASSERT_EQ(point, expected[static_cast<std::size_t>(at)]);
                            ASSERT_EQ(order.level_of_position(at), level);
                            ASSERT_EQ(order.level_of(point % width, point / width % height), level);
                        }
                    }
                }
}

TEST(RefinedOrder, RowsOfALevelFollowOneAnother) {
    const RefinedOrder order({21, 13, 2}, 3);
    for (int level = 0; level <= 3; ++level) {
        std::int64_t next = order.level_range(level).begin;
        for (std::int64_t plane = 0; plane < 2; ++plane)
            for (std::int64_t y = 0; y < 13; ++y) {
                const WorkRange row = order.rows_range(level, plane, {y, y + 1});
                EXPECT_EQ(row.begin, next);
                next = row.end;
                order.for_each(level, row,
                               [&](std::int64_t point) { EXPECT_EQ(point / 21, plane * 13 + y); });
            }
        EXPECT_EQ(next, order.level_range(level).end);
    }
}

TEST(RefinedOrder, ASweepWithOneAxisIsAColumn) {
    const RefinedOrder order({10}, 2);
    std::vector<std::int64_t> points;
    for (std::int64_t at = 0; at < 10; ++at) points.push_back(order.point_at(at));
    EXPECT_EQ(points, (std::vector<std::int64_t>{0, 4, 8, 9, 2, 6, 1, 3, 5, 7}));
}

TEST(RefinedLevel, KeepsChosenPointsThroughAMessage) {
    const RefinedOrder order({21, 13}, 3);
    RefinedLevel level(order, 2);
    const WorkRange positions = level.positions();
    std::vector<std::int64_t> expected;
    for (std::int64_t at = positions.begin; at < positions.end; at += 7) {
        level.choose(at);
        expected.push_back(at);
    }
    const RefinedLevel received = RefinedLevel::from_bytes(order, level.to_bytes());
    EXPECT_EQ(received.level(), 2);
    EXPECT_EQ(received.count(), std::ssize(expected));
    const WorkRange part{positions.begin + 3, positions.end};
    const auto chosen = received.points_of(part);
    ASSERT_EQ(std::ssize(chosen), std::ssize(expected) - 1);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        EXPECT_EQ(chosen[i].place, expected[i + 1] - part.begin);
        EXPECT_EQ(chosen[i].point, order.point_at(expected[i + 1]));
    }
    EXPECT_EQ(RefinedLevel(order, 1, true).count(), order.level_range(1).size());
}

}  // namespace
}  // namespace voltpile
