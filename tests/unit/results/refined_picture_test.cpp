// Where a sweep refines its grid, on pictures small enough to check by hand.
#include "results/refined_picture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace voltpile {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool differ(std::vector<double> corners, double threshold, bool relative) {
    Refinement rule;
    rule.threshold = threshold;
    rule.relative = relative;
    return corners_differ(corners, rule);
}

TEST(RefinedPicture, ComparesCorners) {
    EXPECT_FALSE(differ({2, 2, 2, 2}, 0, false));
    EXPECT_TRUE(differ({2, 2, 2, 2.0001}, 0, false));
    EXPECT_FALSE(differ({2, 2.5, 2, 2}, 0.5, false));
    EXPECT_TRUE(differ({2, 2.5, 2, 1.9}, 0.5, false));
    EXPECT_FALSE(differ({100, 109, 100, 100}, 0.1, true));
    EXPECT_TRUE(differ({-100, -80, -100, -100}, 0.1, true));
    EXPECT_FALSE(differ({0, 0, 0, 0}, 0.1, true));
    EXPECT_TRUE(differ({kNan, 1, 1, 1}, 5, false));
    EXPECT_FALSE(differ({kNan, kNan, kNan, kNan}, 0, false));
    const double infinity = std::numeric_limits<double>::infinity();
    EXPECT_FALSE(differ({infinity, infinity, infinity, infinity}, 0, false));
    EXPECT_TRUE(differ({infinity, 1, 1, 1}, 5, true));
}

// Adds the levels of a picture one by one; returns the points that each chooses.
std::vector<std::vector<std::int64_t>> chosen_points(const RefinedOrder& order, const Refinement& rule,
                                                     const std::function<double(std::int64_t point)>& value) {
    RefinedPicture picture(order, rule);
    std::vector<std::vector<std::int64_t>> all;
    for (int level = 0; level <= order.levels(); ++level) {
        const RefinedLevel chosen = level == 0 ? RefinedLevel(order, 0, true) : picture.choose_next();
        std::vector<double> values(static_cast<std::size_t>(chosen.positions().size()), kNan);
        std::vector<std::int64_t>& points = all.emplace_back();
        for (const RefinedLevel::Chosen& each : chosen.points_of(chosen.positions())) {
            points.push_back(each.point);
            values[static_cast<std::size_t>(each.place)] = value(each.point);
        }
        picture.add(chosen, values);
    }
    return all;
}

// A line of 17 points with a step between 9 and 10.
TEST(RefinedPicture, FollowsAStepAlongALine) {
    Refinement rule;
    rule.levels = 2;
    rule.margin = 0;
    const RefinedOrder order({17}, rule.levels);
    const auto step = [](std::int64_t point) { return point < 10 ? 0.0 : 1.0; };
    const auto points = chosen_points(order, rule, step);
    EXPECT_EQ(points[0], (std::vector<std::int64_t>{0, 4, 8, 12, 16}));
    EXPECT_EQ(points[1], (std::vector<std::int64_t>{10}));
    EXPECT_EQ(points[2], (std::vector<std::int64_t>{9}));
    rule.margin = 1;
    const auto wider = chosen_points(order, rule, step);
    EXPECT_EQ(wider[1], (std::vector<std::int64_t>{6, 10, 14}));
    EXPECT_EQ(wider[2], (std::vector<std::int64_t>{7, 9, 11}));
}

TEST(RefinedPicture, ChoosesSidesAndInsideOfADividedCell) {
    Refinement rule;
    rule.levels = 1;
    rule.margin = 0;
    const RefinedOrder order({5, 5, 2}, rule.levels);
    // Only the corner (4, 4) of the second plane differs.
    const auto points =
        chosen_points(order, rule, [](std::int64_t point) { return point == 49 ? 1.0 : 0.0; });
    EXPECT_EQ(points[1], (std::vector<std::int64_t>{25 + 13, 25 + 17, 25 + 18, 25 + 19, 25 + 23}));
}

TEST(RefinedPicture, EqualValuesNeedOnlyTheCoarsestGrid) {
    Refinement rule;
    rule.levels = 3;
    const RefinedOrder order({30, 21}, rule.levels);
    const auto points = chosen_points(order, rule, [](std::int64_t) { return 7.0; });
    EXPECT_EQ(std::ssize(points[0]), order.level_range(0).size());
    for (int level = 1; level <= 3; ++level) EXPECT_TRUE(points[static_cast<std::size_t>(level)].empty());
}

TEST(Refinement, TextIsReadBack) {
    const Refinement rule{"final_time", 4, 0.1, true, 2, "job.toml:3"};
    const auto read = parse_refinement(refinement_text(rule));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->field, "final_time");
    EXPECT_EQ(read->levels, 4);
    EXPECT_EQ(read->threshold, 0.1);
    EXPECT_TRUE(read->relative);
    EXPECT_EQ(read->margin, 2);
    EXPECT_FALSE(parse_refinement("nonsense"));
}

}  // namespace
}  // namespace voltpile
