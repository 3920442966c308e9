#include "work/shard.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace voltpile {
namespace {

TEST(ShardTest, CoversTheSweepWithoutOverlap) {
    for (const std::int64_t points : {0L, 1L, 7L, 90L, 1'000'000'007L, 9'000'000'000'000'000'000L}) {
        for (const int count : {1, 2, 3, 7, 1000, 100'000}) {
            std::int64_t at = 0;
            for (Shard shard{0, count}; shard.index < count; ++shard.index) {
                const WorkRange interval = shard.interval(points);
                ASSERT_EQ(interval.begin, at);
                ASSERT_GE(interval.size(), points / count);
                ASSERT_LE(interval.size(), points / count + 1);
                at = interval.end;
            }
            EXPECT_EQ(at, points);
        }
    }
}

TEST(ShardTest, RoundsBoundsDown) {
    EXPECT_EQ((Shard{1, 4}.interval(90)), (WorkRange{22, 45}));  // 90 / 4 = 22.5
    EXPECT_EQ((Shard{2, 3}.interval(10)), (WorkRange{6, 10}));   // 20 / 3 = 6.7
}

TEST(ShardTest, ParsesIndexAndCount) {
    EXPECT_EQ(parse_shard("2/4"), (Shard{2, 4}));
    EXPECT_EQ(parse_shard("0/1"), Shard{});
    EXPECT_EQ(parse_shard("2/4").text(), "shard 2/4");
    for (const char* text : {"", "2", "/4", "2/", "2/4/", "4/4", "-1/4", "0/0", "0/-1", "a/b", " 1/4", "1 /4",
                             "1/4 ", "0/100001", "99999999999/4"}) {
        try {
            parse_shard(text);
            ADD_FAILURE() << text;
        } catch (const JobError& error) {
            EXPECT_NE(std::string(error.what()).find(std::string("--shard ") + text), std::string::npos);
        }
    }
}

TEST(PointsText, UsesTheSingularForOne) {
    EXPECT_EQ(points_text(1), "1 point");
    EXPECT_EQ(points_text(0), "0 points");
    EXPECT_EQ(points_text(12'000), "12,000 points");
}

}  // namespace
}  // namespace voltpile
