#include <gtest/gtest.h>

#include <cmath>

#include "bowl_schema.h"

namespace voltpile::testing {
namespace {

TEST(Values, ReadsValuesAndDefaults) {
    const auto job = parse_bowl(bowl_job);
    EXPECT_EQ(job.app(), "bowl");
    EXPECT_EQ(job.path(), "b.toml");
    EXPECT_EQ(job.name(), "b");
    EXPECT_EQ(job.text(), bowl_job);
    EXPECT_EQ(job.real("bowl.depth"), 2.5);
    EXPECT_EQ(job.integer("roll.rounds"), 10);
    EXPECT_EQ(job.text("roll.mode"), "exact");
    EXPECT_EQ(job.texts("roll.show"), Texts{"time"});
    EXPECT_FALSE(job.boolean("roll.noisy"));
    EXPECT_TRUE(std::isinf(job.real("bowl.limit")));
    EXPECT_EQ(job.reals("bowl.corner"), (Reals{0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(job.real("run.range_seconds"), 2.0);
    EXPECT_EQ(job.text("run.device"), "auto");
    EXPECT_EQ(job.integer("run.threads"), 0);
    EXPECT_EQ(job.integer("run.range_points"), 0);
    EXPECT_TRUE(std::isinf(job.real("run.time_limit_s")));
    EXPECT_TRUE(job.axes().empty());
    EXPECT_EQ(job.point_count(), 1);
}

TEST(Values, ThrowsLogicErrorForUnknownKeyOrWrongType) {
    const auto job = parse_bowl(bowl_job);
    EXPECT_THROW(job.real("bowl.width"), std::logic_error);
    EXPECT_THROW(job.real("roll.rounds"), std::logic_error);
    EXPECT_THROW(job.real("bowl.corner"), std::logic_error);
}

TEST(Values, AcceptsIntegersForRealsButNotReverse) {
    EXPECT_EQ(parse_bowl("app = 'bowl'\nbowl = {depth = 3}\nroll = {rounds = 1}").real("bowl.depth"), 3.0);
    EXPECT_EQ(problems_of("app = 'bowl'\nbowl.depth = 3\nroll.rounds = 5.0"),
              "b.toml:3: roll.rounds = 5.0: expected an integer, found a real number; write 5");
    EXPECT_EQ(problems_of("app = 'bowl'\nbowl.depth = '3'\nroll.rounds = true"),
              "b.toml:2: bowl.depth = \"3\": expected a real number, found a string\n"
              "b.toml:3: roll.rounds = true: expected an integer, found true or false");
}

TEST(Values, ChecksRanges) {
    const auto depth = [](const std::string& value) {
        return problems_of("app = 'bowl'\nroll.rounds = 1\nbowl.depth = " + value);
    };
    EXPECT_EQ(depth("1e-300"), "");
    EXPECT_EQ(depth("0"), "b.toml:3: bowl.depth = 0 m: must be greater than 0");
    EXPECT_EQ(depth("-0.0"), "b.toml:3: bowl.depth = -0.0 m: must be greater than 0");
    EXPECT_EQ(depth("nan"), "b.toml:3: bowl.depth = nan m: must be greater than 0 and finite");
    EXPECT_EQ(depth("inf"), "b.toml:3: bowl.depth = inf m: must be greater than 0 and finite");

    EXPECT_EQ(problems_of(bowl_job, {"bowl.limit=0"}), "");
    EXPECT_EQ(problems_of(bowl_job, {"bowl.limit=inf"}), "");
    EXPECT_EQ(problems_of(bowl_job, {"bowl.limit=nan"}),
              "--set bowl.limit=nan: bowl.limit = nan s: must be at least 0 and not nan");
    EXPECT_EQ(problems_of(bowl_job, {"roll.rounds=101"}),
              "--set roll.rounds=101: roll.rounds = 101: must be at least 1 and at most 100");
    EXPECT_EQ(problems_of(bowl_job, {"rim.depth=-inf"}),
              "--set rim.depth=-inf: rim.depth = -inf m: must be finite");
}

TEST(Values, ChecksShapes) {
    const auto corner = [](const std::string& value) {
        return problems_of(bowl_job, {"bowl.corner=" + value});
    };
    EXPECT_EQ(corner("[[1, 2, 3], [4, 5, 6]]"), "");
    EXPECT_EQ(corner("1"),
              "--set bowl.corner=1: bowl.corner = 1: expected a list of 2 lists of 3 real numbers, found an "
              "integer");
    EXPECT_EQ(corner("[]"),
              "--set bowl.corner=[]: bowl.corner: expected a list of 2 lists of 3 real numbers, found an "
              "empty list");
    EXPECT_EQ(corner("[[1,2],[4,5,6]]"),
              "--set bowl.corner=[[1,2],[4,5,6]]: bowl.corner[0]: expected a list of 3 real numbers, found a "
              "list of 2");
    EXPECT_EQ(corner("[[1,2,3],[4,'a',6]]"),
              "--set bowl.corner=[[1,2,3],[4,'a',6]]: bowl.corner[1].y = \"a\": expected a real number, "
              "found a string");
    EXPECT_EQ(
        problems_of(bowl_job, {"bowl.weight=7"}),
        "--set bowl.weight=7: bowl.weight = 7: expected a list of real numbers, found an integer; write [7]");
    EXPECT_EQ(parse_bowl(bowl_job, {"bowl.weight=[3,4,5]"}).reals("bowl.weight"), (Reals{3, 4, 5}));
    EXPECT_EQ(problems_of(bowl_job + "[bowl.depth2]\n"),
              "b.toml:7: unknown key bowl.depth2; did you mean bowl.depth?");
}

TEST(Values, ReportsLineOfEachElement) {
    EXPECT_EQ(problems_of(bowl_job + "[rim]\ndepth = 1\n[run]\nthreads = [\n  2\n]\n"),
              "b.toml:10: run.threads = [...]: expected an integer, found a list of 1");
    EXPECT_EQ(problems_of("app = 'bowl'\nroll.rounds = 1\n[bowl]\ndepth = 1\nweight = [\n  1,\n  -2,\n]\n"),
              "b.toml:7: bowl.weight[1] = -2 kg: must be at least 0");
}

TEST(Values, ChecksChoices) {
    EXPECT_EQ(
        problems_of(bowl_job, {"roll.mode=quikc"}),
        "--set roll.mode=quikc: roll.mode = \"quikc\": must be one of exact, quick; did you mean \"quick\"?");
    EXPECT_EQ(problems_of(bowl_job, {"roll.show=[]"}),
              "--set roll.show=[]: roll.show is empty: name at least one of time, path");
    EXPECT_EQ(problems_of(bowl_job, {"roll.show=['path','path']"}),
              "--set roll.show=['path','path']: roll.show names \"path\" twice");
}

TEST(Values, ReportsAllProblemsInFileOrder) {
    EXPECT_EQ(problems_of("app = 'bowl'\n[roll]\nmode = 'fast'\nronuds = 3\n[bowl]\nweight = [-1]\n",
                          {"roll.noisy=1", "run.threads=-1"}),
              "b.toml:3: roll.mode = \"fast\": must be one of exact, quick\n"
              "b.toml:4: unknown key roll.ronuds; did you mean roll.rounds?\n"
              "b.toml:5: missing key bowl.depth (a real number)\n"
              "b.toml:6: bowl.weight[0] = -1 kg: must be at least 0\n"
              "--set roll.noisy=1: roll.noisy = 1: expected true or false, found an integer\n"
              "--set run.threads=-1: run.threads = -1: must be at least 0 and at most 65536");
}

TEST(Values, RunsTheAppsOwnCheck) {
    EXPECT_EQ(problems_of(bowl_job, {"roll.rounds=13"}), "--set roll.rounds=13: 13 brings bad luck");
    EXPECT_EQ(problems_of("app = 'bowl'\nbowl.depth = 1\nroll.rounds = 13\n"),
              "b.toml:3: 13 brings bad luck");
}

}  // namespace
}  // namespace voltpile::testing
