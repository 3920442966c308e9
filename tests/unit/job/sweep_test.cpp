#include <algorithm>

#include <gtest/gtest.h>

#include "bowl_schema.h"

namespace voltpile::testing {
namespace {

std::string sweep_problems(const std::string& axes) {
    return problems_of(bowl_job + axes);
}

SweepAxis only_axis(const std::string& text) {
    const auto job = parse_bowl(bowl_job + text);
    EXPECT_EQ(job.axes().size(), 1u);
    return job.axes().at(0);
}

TEST(Sweep, ResolvesAxes) {
    const auto job = parse_bowl(bowl_job + axis("corner[1].y", "-1", "1", "4", "name = 'y'") +
                                axis("roll.rounds", "10", "20", "3", "endpoint = true"));
    ASSERT_EQ(job.axes().size(), 2u);
    const auto& y = job.axes()[0];
    EXPECT_EQ(y.name, "y");
    EXPECT_EQ(y.parameter, "bowl.corner[1].y");
    EXPECT_EQ(y.key, "bowl.corner");
    EXPECT_EQ(y.element, 4);
    EXPECT_EQ(y.unit, "m");
    EXPECT_FALSE(y.endpoint);
    const auto& rounds = job.axes()[1];
    EXPECT_EQ(rounds.name, "rounds");
    EXPECT_EQ(rounds.parameter, "roll.rounds");
    EXPECT_EQ(rounds.element, 0);
    EXPECT_EQ(job.point_count(), 12);
}

TEST(Sweep, PlacesPointsByTheFormula) {
    const auto open = only_axis(axis("corner[0].x", "-1", "1", "4"));
    EXPECT_EQ(open.value(0), -1.0);
    EXPECT_EQ(open.value(1), -0.5);
    EXPECT_EQ(open.value(3), 0.5);
    const auto closed = only_axis(axis("corner[0].x", "-1", "1", "5", "endpoint = true"));
    EXPECT_EQ(closed.value(1), -0.5);
    EXPECT_EQ(closed.value(4), 1.0);
    const auto single = only_axis(axis("corner[0].x", "-1", "1", "1", "endpoint = true"));
    EXPECT_EQ(single.value(0), -1.0);
}

TEST(Sweep, AcceptsAllSpellingsOfParameter) {
    for (const char* const text : {"corner[1].z", "bowl.corner[1].z", "corner[1][2]", "bowl.corner[1][2]"})
        EXPECT_EQ(only_axis(axis(text, "0", "1", "2")).parameter, "bowl.corner[1].z") << text;
    EXPECT_EQ(only_axis(axis("corner[1][2]", "0", "1", "2")).name, "corner_1_z");
    EXPECT_EQ(only_axis(axis("weight[1]", "0", "1", "2")).name, "weight_1");
    EXPECT_EQ(only_axis(axis("rim.depth", "0", "1", "2")).name, "depth");
}

TEST(Sweep, ExplainsInvalidParameters) {
    const auto problem = [](const std::string& parameter) {
        const auto text = sweep_problems(axis(parameter, "1", "2", "2"));
        const std::string start = "b.toml:8: sweep.parameter = \"" + parameter + "\": ";
        EXPECT_TRUE(text.starts_with(start)) << text;
        return text.substr(std::min(text.size(), start.size()));
    };
    EXPECT_EQ(problem("conrer[0].x"), "unknown parameter; did you mean \"bowl.corner[0].x\"?");
    EXPECT_EQ(problem("zzzz"), "unknown parameter");
    EXPECT_EQ(problem("depth"), "ambiguous: write \"bowl.depth\" or \"rim.depth\"");
    EXPECT_EQ(problem("corner"),
              "bowl.corner is a list of 2 lists of 3 real numbers; write \"bowl.corner[0].x\" for its first "
              "element");
    EXPECT_EQ(problem("corner[1]"),
              "bowl.corner is a list of 2 lists of 3 real numbers; write \"bowl.corner[0].x\" for its first "
              "element");
    EXPECT_EQ(problem("corner[2].x"), "bowl.corner: index 2 is out of range 0 to 1");
    EXPECT_EQ(problem("corner[0][3]"), "bowl.corner: index 3 is out of range 0 to 2");
    EXPECT_EQ(problem("weight[2]"), "bowl.weight: index 2 is out of range 0 to 1");
    EXPECT_EQ(problem("weight[0].x"), "bowl.weight is not a vector in space, so it has no .x");
    EXPECT_EQ(problem("bowl.depth[0]"), "bowl.depth is a single number; write \"bowl.depth\"");
    EXPECT_EQ(
        problem("roll.mode"),
        "roll.mode cannot be swept; these can: bowl.depth, bowl.corner, bowl.weight, rim.depth, roll.rounds");
    for (const char* const malformed :
         {"", "[0]", "a[", "a[]", "a[b]", "a..b", "a[-1]", "a[99999999999]", "a b", "a[0].x.y"})
        EXPECT_EQ(problem(malformed),
                  "not a parameter; write for example \"position[0].x\" or \"integrate.dt\"");
}

TEST(Sweep, ChecksBothEndsAgainstTheRange) {
    EXPECT_EQ(sweep_problems(axis("bowl.depth", "0", "2", "4")),
              "b.toml:9: sweep.from = 0 m: bowl.depth must be greater than 0");
    EXPECT_EQ(sweep_problems(axis("bowl.depth", "2", "-2", "4")),
              "b.toml:10: sweep.to = -2 m: ends the axis at -1 m and bowl.depth must be greater than 0");
    // The axis stops one spacing short of `to`.
    EXPECT_EQ(sweep_problems(axis("bowl.depth", "2", "0", "4")), "");
    EXPECT_EQ(sweep_problems(axis("bowl.depth", "2", "0", "4", "endpoint = true")),
              "b.toml:10: sweep.to = 0 m: bowl.depth must be greater than 0");
}

TEST(Sweep, RejectsFractionsForIntegerKeys) {
    EXPECT_EQ(sweep_problems(axis("roll.rounds", "10", "20", "5")), "");
    EXPECT_EQ(sweep_problems(axis("roll.rounds", "20", "10", "6", "endpoint = true")), "");
    EXPECT_EQ(sweep_problems(axis("roll.rounds", "10", "20", "4")),
              "b.toml:11: sweep over roll.rounds: needs integers, but point 1 of this axis is 12.5");
    EXPECT_EQ(sweep_problems(axis("roll.rounds", "1.5", "3.5", "2")),
              "b.toml:9: sweep over roll.rounds: needs integers, but point 0 of this axis is 1.5");
}

TEST(Sweep, RejectsNonPositiveCountsAndOverflow) {
    EXPECT_EQ(sweep_problems(axis("bowl.depth", "1", "2", "0")),
              "b.toml:11: sweep.count = 0: must be at least 1");
    EXPECT_EQ(sweep_problems(axis("bowl.depth", "1", "2", "-7")),
              "b.toml:11: sweep.count = -7: must be at least 1");
    const std::string huge = "9223372036854775807";
    EXPECT_EQ(parse_bowl(bowl_job + axis("bowl.depth", "1", "2", huge)).point_count(), INT64_MAX);
    EXPECT_EQ(
        sweep_problems(axis("bowl.depth", "1", "2", huge) + axis("rim.depth", "1", "2", huge, "name = 'r'")),
        "b.toml:11: sweep.count = 9223372036854775807: the axes have 9223372036854775807 x "
        "9223372036854775807 = 8.51e+37 points in all, more than 9223372036854775807");
}

TEST(Sweep, BlamesTheLargestAxisForTooManyPoints) {
    const std::string axes = axis("bowl.depth", "1", "2", "12") +
                             axis("rim.depth", "1", "2", "4000000000000000000", "name = 'r'") +
                             axis("weight[0]", "1", "2", "12");
    EXPECT_EQ(sweep_problems(axes),
              "b.toml:17: sweep.count = 4000000000000000000: the axes have 12 x 4000000000000000000 x 12 = "
              "5.76e+20 points in all, more than 9223372036854775807");
}

TEST(Sweep, RejectsInvalidAndDuplicateNames) {
    EXPECT_EQ(sweep_problems(axis("bowl.depth", "1", "2", "2") + axis("rim.depth", "1", "2", "2")),
              "b.toml:13: a second axis is named \"depth\"; give it another name with sweep.name");
    EXPECT_EQ(
        sweep_problems(axis("bowl.depth", "1", "2", "2") + axis("bowl.depth", "1", "2", "2", "name = 'd'")),
        "b.toml:14: axis \"depth\" already sweeps bowl.depth");
    for (const char* const name : {"a.b", "1a", "a b",
                                   "gr\xc3\xb6\xc3\x9f"
                                   "e",
                                   "a/b"})
        EXPECT_EQ(sweep_problems(axis("bowl.depth", "1", "2", "2", "name = '" + std::string(name) + "'")),
                  "b.toml:12: sweep.name = \"" + std::string(name) +
                      "\": must have at most 64 letters, digits and underscores and not start with a digit");
}

TEST(Sweep, RejectsIncompleteAxes) {
    EXPECT_EQ(sweep_problems("[[sweep]]\n"),
              "b.toml:7: missing key sweep.parameter in this [[sweep]]\n"
              "b.toml:7: missing key sweep.from in this [[sweep]]\n"
              "b.toml:7: missing key sweep.to in this [[sweep]]\n"
              "b.toml:7: missing key sweep.count in this [[sweep]]");
    EXPECT_EQ(sweep_problems(axis("bowl.depth", "1", "2", "2", "cuont = 3")),
              "b.toml:12: unknown key sweep.cuont; did you mean sweep.count?");
    EXPECT_EQ(sweep_problems(axis("bowl.depth", "1", "nan", "2")),
              "b.toml:10: sweep.to = nan: must be finite");
    EXPECT_EQ(sweep_problems(axis("bowl.corner[0].x", "-1.7e308", "1.7e308", "2")),
              "b.toml:10: sweep.to = 1.7e+308: too far from sweep.from = -1.7e+308");
}

TEST(Sweep, MustBeListOfTables) {
    EXPECT_EQ(sweep_problems("[sweep]\nparameter = 'bowl.depth'\n"),
              "b.toml:7: a sweep is a list of axes: write [[sweep]], with two brackets on each side");
    EXPECT_EQ(problems_of("sweep = 3\n" + bowl_job),
              "b.toml:1: a sweep is a list of axes: start each with a line [[sweep]]");
    EXPECT_EQ(problems_of("sweep = [3]\n" + bowl_job),
              "b.toml:1: an axis is a table: start each with a line [[sweep]]");
    EXPECT_TRUE(sweep_problems("[sweep]\n[sweep]\n")
                    .ends_with("; begin each axis with [[sweep]], with two brackets on each side"));
}

TEST(Sweep, IsRejectedForAppsWithTheirOwnPoints) {
    AppSchema schema = bowl_schema();
    schema.sweeps = false;
    const std::vector<AppSchema> apps{schema};
    try {
        parse_job(bowl_job + axis("bowl.depth", "1", "2", "2"), "b.toml", {}, apps);
        FAIL() << "accepted";
    } catch (const JobError& error) {
        EXPECT_STREQ(error.what(), "b.toml:7: [[sweep]]: the app bowl has no sweep");
    }
    EXPECT_NO_THROW(parse_job(bowl_job, "b.toml", {}, apps));
}

}  // namespace
}  // namespace voltpile::testing
