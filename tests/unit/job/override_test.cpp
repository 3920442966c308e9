#include <algorithm>

#include <gtest/gtest.h>

#include "bowl_schema.h"

namespace voltpile::testing {
namespace {

const std::string swept_job =
    bowl_job + axis("corner[0].x", "0", "1", "10", "name = 'x'") + axis("rim.depth", "1", "2", "3");

std::string complaint(const std::string& override_text) {
    const auto text = problems_of(swept_job, {override_text});
    const auto start = "--set " + override_text + ": ";
    EXPECT_TRUE(text.starts_with(start)) << text;
    return text.substr(std::min(text.size(), start.size()));
}

TEST(Override, ReplacesValues) {
    const auto job = parse_bowl(bowl_job, {"roll.rounds=20", "bowl.depth=1e1", "roll.mode=quick",
                                           "roll.show=['path']", "roll.noisy=true", "bowl.weight=[7, 8, 9]"});
    EXPECT_EQ(job.integer("roll.rounds"), 20);
    EXPECT_EQ(job.real("bowl.depth"), 10.0);
    EXPECT_EQ(job.text("roll.mode"), "quick");
    EXPECT_EQ(job.texts("roll.show"), Texts{"path"});
    EXPECT_TRUE(job.boolean("roll.noisy"));
    EXPECT_EQ(job.reals("bowl.weight"), (Reals{7, 8, 9}));
    EXPECT_EQ(job.overrides().size(), 6u);
    EXPECT_EQ(job.overrides()[0], "roll.rounds=20");
    EXPECT_EQ(job.text(), bowl_job);
}

TEST(Override, LastOneWins) {
    EXPECT_EQ(parse_bowl(bowl_job, {"roll.rounds=20", "roll.rounds=30"}).integer("roll.rounds"), 30);
}

TEST(Override, ChangesElementsOfListsAndDefaults) {
    EXPECT_EQ(parse_bowl(bowl_job, {"bowl.corner[1].y=5", "bowl.corner[0][2]=-1"}).reals("bowl.corner"),
              (Reals{0, 0, -1, 1, 5, 1}));
    EXPECT_EQ(parse_bowl(bowl_job, {"bowl.corner[1]=[7,8,9]"}).reals("bowl.corner"),
              (Reals{0, 0, 0, 7, 8, 9}));
    EXPECT_EQ(parse_bowl("app = 'bowl'\nbowl = {depth = 1, weight = [1, 2, 3]}\nroll.rounds = 1",
                         {"bowl.weight[2]=9"})
                  .reals("bowl.weight"),
              (Reals{1, 2, 9}));
}

TEST(Override, AddressesAxesByName) {
    const auto job = parse_bowl(swept_job, {"sweep.x.count=100", "sweep.depth.to=5.0", "sweep[0].from=0.5"});
    EXPECT_EQ(job.axes()[0].count, 100);
    EXPECT_EQ(job.axes()[0].from, 0.5);
    EXPECT_EQ(job.axes()[1].to, 5.0);
    EXPECT_EQ(parse_bowl(swept_job, {"sweep.x.parameter=corner[1].y"}).axes()[0].parameter,
              "bowl.corner[1].y");
    EXPECT_TRUE(parse_bowl(swept_job, {"sweep=[]"}).axes().empty());
}

TEST(Override, ReportsMalformedOverrides) {
    EXPECT_EQ(complaint("roll.rounds"), "must be key=value, as in integrate.steps=5000");
    EXPECT_EQ(complaint("=3"), "not a key; write for example integrate.steps=5000 or sweep.x.count=100");
    EXPECT_EQ(complaint("roll rounds=3"),
              "not a key; write for example integrate.steps=5000 or sweep.x.count=100");
    EXPECT_EQ(complaint("roll.rounds="), "the value is missing");
    EXPECT_EQ(complaint("roll.rouns=3"), "unknown key roll.rouns; did you mean roll.rounds?");
    EXPECT_EQ(complaint("rol.rounds=3"), "unknown table [rol]; did you mean [roll]?");
    EXPECT_EQ(complaint("roll.rounds=many"), "roll.rounds = \"many\": expected an integer, found a string");
    EXPECT_EQ(problems_of(bowl_job, {"bowl.depth=1\ntwo=2"}),
              "--set bowl.depth=1\\x0atwo=2: expected one TOML value, found several");
    EXPECT_EQ(complaint("bowl.corner[2].x=1"), "bowl.corner has 2 elements: there is no [2]");
    EXPECT_EQ(complaint("bowl.corner[0].w=1"), "bowl.corner is a list: it has no .w");
    EXPECT_EQ(complaint("bowl.depth[0]=1"), "bowl.depth is not a list");
    EXPECT_EQ(complaint("bowl.depth.x=1"), "bowl.depth is not a table");
    EXPECT_EQ(complaint("sweep.y.count=3"), "there is no axis \"y\"; the axes are: x, depth");
    EXPECT_EQ(complaint("sweep.dept.count=3"),
              "there is no axis \"dept\"; the axes are: x, depth; did you mean depth?");
    EXPECT_EQ(complaint("sweep.x=3"), "say which key of the axis, as in sweep.x.count=100");
    EXPECT_EQ(complaint("sweep.x.count=-3"), "sweep.count = -3: must be at least 1");
    EXPECT_EQ(complaint("app=bwol"), "app = \"bwol\": must be one of bowl; did you mean \"bowl\"?");
    EXPECT_TRUE(complaint("bowl.weight=[1,2").starts_with("not a TOML value: "));
    EXPECT_EQ(problems_of(bowl_job, {"sweep.x.count=3"}),
              "--set sweep.x.count=3: the job has no [[sweep]] to override");
}

}  // namespace
}  // namespace voltpile::testing
