#include <gtest/gtest.h>

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

}  // namespace
}  // namespace voltpile::testing
