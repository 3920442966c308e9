#include <gtest/gtest.h>

#include <algorithm>

#include "bowl_schema.h"

namespace voltpile::testing {
namespace {

TEST(Keys, RejectsUnknownKeysWithSuggestion) {
    EXPECT_EQ(problems_of(bowl_job + "rouns = 3\n"),
              "b.toml:7: unknown key roll.rouns; did you mean roll.rounds?");
    EXPECT_EQ(problems_of(bowl_job + "qwertz = 3\n"), "b.toml:7: unknown key roll.qwertz");
    EXPECT_EQ(problems_of(bowl_job + "weight = [3]\n"),
              "b.toml:7: unknown key roll.weight; did you mean bowl.weight?");
    EXPECT_EQ(problems_of("rounds = 3\n" + bowl_job),
              "b.toml:1: unknown key rounds; did you mean roll.rounds?");
    EXPECT_EQ(problems_of(bowl_job + "[rmi]\na = 1\n"), "b.toml:7: unknown table [rmi]; did you mean [rim]?");
    EXPECT_EQ(problems_of(bowl_job + "[elsewhere]\n"), "b.toml:7: unknown table [elsewhere]");
}

TEST(Keys, DoesNotReadQuotedKeyAsPath) {
    EXPECT_EQ(problems_of("\"roll.rounds\" = 3\n" + bowl_job),
              "b.toml:1: unknown key \"roll.rounds\"; did you mean roll.rounds?");
}

TEST(Keys, ReportsMisspelledTableOnce) {
    EXPECT_EQ(problems_of("app = 'bowl'\n[bowll]\ndepth = 1\n[roll]\nrounds = 1\n"),
              "b.toml:2: unknown table [bowll]; did you mean [bowl]?");
}

TEST(Keys, RejectsValueInPlaceOfTable) {
    EXPECT_EQ(problems_of("app = 'bowl'\nbowl = 3\n[roll]\nrounds = 1\n"),
              "b.toml:2: bowl must be a table, found an integer: write [bowl] on a line of its own, and its "
              "keys below");
    EXPECT_EQ(problems_of("app = 'bowl'\n[[bowl]]\ndepth = 1\n[roll]\nrounds = 1\n"),
              "b.toml:2: bowl must be a table, found a list of 1: write [bowl] on a line of its own, and its "
              "keys below");
    EXPECT_EQ(problems_of("app = 'bowl'\n[bowl.depth]\nx = 1\n[roll]\nrounds = 1\n"),
              "b.toml:2: bowl.depth = {...}: expected a real number, found a table");
}

TEST(Keys, NamesMissingKeys) {
    EXPECT_EQ(problems_of("app = 'bowl'\n[bowl]\n"),
              "b.toml:2: missing key bowl.depth (a real number)\n"
              "b.toml: missing key roll.rounds (an integer)");
}

TEST(Keys, RejectsUnknownApp) {
    EXPECT_EQ(problems_of(""), "b.toml: missing key app: begin the file with app = \"...\", one of bowl");
    EXPECT_EQ(problems_of("app = \"bwol\"\n"),
              "b.toml:1: app = \"bwol\": must be one of bowl; did you mean \"bowl\"?");
    EXPECT_EQ(problems_of("app = 3\n"),
              "b.toml:1: app = 3: expected a string, one of bowl, found an integer");
    EXPECT_EQ(problems_of("[bowl]\ndepth = 1\n[roll]\nrounds = 1\n", {"app=bowl"}), "");
}

TEST(Keys, ReadsNumbersWithAnyNames) {
    AppSchema schema = bowl_schema();
    schema.keys.push_back({.path = "spice.NAME", .range = {.min = 0}, .sweepable = true, .help = "Any."});
    const std::vector<AppSchema> apps{schema};
    const auto read = [&](const std::string& text, const std::vector<std::string>& overrides) {
        return parse_job(bowl_job + text, "b.toml", overrides, apps);
    };
    const std::string spices = "[spice]\nsalt = 2\npepper = 0.5\n";
    const std::string sweep = "[[sweep]]\nparameter = \"salt\"\nfrom = 0\nto = 1\ncount = 3\n";
    const JobSpec job = read(spices + sweep, {"spice.curry=4", "sweep.salt.count=5"});
    Texts names = job.texts("spice.NAME");
    std::ranges::sort(names);
    EXPECT_EQ(names, (Texts{"curry", "pepper", "salt"}));
    EXPECT_EQ(job.real("spice.pepper"), 0.5);
    EXPECT_EQ(job.real("spice.curry"), 4);
    EXPECT_EQ(job.axes().at(0).parameter, "spice.salt");
    EXPECT_EQ(job.point_count(), 5);
    EXPECT_NE(read(spices, {}).fingerprint(), read(spices, {"spice.salt=3"}).fingerprint());
    EXPECT_EQ(read("[spice]\npepper = 0.50\nsalt = 2.0\n", {}).fingerprint(), read(spices, {}).fingerprint());

    const auto complaint = [&](const std::string& text) -> std::string {
        try {
            read(text, {});
        } catch (const JobError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(complaint("[spice]\nsalt = -1\n"), "b.toml:8: spice.salt = -1: must be at least 0");
    EXPECT_EQ(complaint("[spice]\n\"two words\" = 1\n"), "b.toml:8: unknown key spice.\"two words\"");
    EXPECT_EQ(complaint("[spice]\nsalt = \"1\"\n"),
              "b.toml:8: spice.salt = \"1\": expected a real number, found a string");
}

}  // namespace
}  // namespace voltpile::testing
