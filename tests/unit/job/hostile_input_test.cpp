// Inputs that are not job files or that attack the reader: each must cause a JobError quickly.
#include <algorithm>

#include <gtest/gtest.h>

#include "bowl_schema.h"

namespace voltpile::testing {
namespace {

std::string repeated(const std::string& text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
}

TEST(HostileInput, ReportsLineAndColumnOfSyntaxErrors) {
    EXPECT_TRUE(problems_of("app = \"bowl\"\n[bowl\ndepth = 1\n").starts_with("b.toml:2:6: "));
    EXPECT_TRUE(problems_of("app = \"bowl").starts_with("b.toml:1:"));
    EXPECT_TRUE(problems_of(bowl_job + "rounds = 3\n").starts_with("b.toml:7:"));  // a key twice
    EXPECT_TRUE(problems_of(bowl_job + "gr\xc3\xb6\xc3\x9f"
                                       "e = 3\n")
                    .starts_with("b.toml:7:"));
}

TEST(HostileInput, RejectsNumbersOutOfRange) {
    EXPECT_TRUE(problems_of(bowl_job + "mode = 1e400\n").starts_with("b.toml:7:"));
    EXPECT_TRUE(problems_of(bowl_job + "mode = 99999999999999999999\n").starts_with("b.toml:7:"));
}

TEST(HostileInput, RejectsBinaryData) {
    EXPECT_NE(problems_of(std::string(1000, '\0')), "");
    EXPECT_NE(problems_of("\x89HDF\r\n\x1a\n\xff\xff"), "");
    EXPECT_NE(problems_of(bowl_job + std::string("mode = \"a\0b\"\n", 13)), "");
    EXPECT_NE(problems_of(bowl_job + "mode = \"\xff\xfe\"\n"), "");
    // Control characters must not reach the terminal.
    EXPECT_EQ(problems_of(bowl_job + "\"a\\u001b[2J\" = 1\n"), "b.toml:7: unknown key roll.\"a\\x1b[2J\"");
}

TEST(HostileInput, AcceptsByteOrderMarkAndCarriageReturns) {
    EXPECT_EQ(problems_of("\xef\xbb\xbf" + bowl_job), "");
    EXPECT_EQ(problems_of("app = 'bowl'\r\n[bowl]\r\ndepth = 1\r\n[roll]\r\nrounds = 2\r\n"), "");
}

TEST(HostileInput, ReportsUnicodeKeys) {
    EXPECT_EQ(problems_of(bowl_job + "\"gr\xc3\xb6\xc3\x9f"
                                     "e\" = 3\n"),
              "b.toml:7: unknown key roll.\"gr\xc3\xb6\xc3\x9f"
              "e\"");
}

TEST(HostileInput, RejectsDeepNesting) {
    const int deep = 100000;
    for (const auto& text : {repeated("a.", deep) + "a = 1", "[" + repeated("a.", deep) + "a]",
                             repeated("'a,'.", deep) + "a = 1", repeated("\"\\\"=\".", deep) + "a = 1"})
        EXPECT_EQ(problems_of(text),
                  "b.toml:1: this key has more than 8 dots; job files do not nest that deeply");
    EXPECT_TRUE(problems_of("a = " + repeated("[", deep)).starts_with("b.toml:1:"));
    EXPECT_TRUE(problems_of("a = " + repeated("{a = ", deep)).starts_with("b.toml:1:"));
    EXPECT_NE(problems_of(bowl_job, {"bowl.depth=" + repeated("[", deep)}), "");
    EXPECT_NE(problems_of(bowl_job, {repeated("a.", deep) + "a=1"}), "");
}

TEST(HostileInput, IgnoresDotsOutsideKeys) {
    EXPECT_EQ(problems_of("# ................ 'x\n" + bowl_job + "mode = \"exact\" # .............\n"), "");
    EXPECT_EQ(problems_of(bowl_job, {"bowl.weight=[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0]"}), "");
    EXPECT_EQ(problems_of(bowl_job + "mode = \"\"\"a\n..........\n\"\"\"\n"),
              "b.toml:7: roll.mode = \"a\\x0a..........\\x0a\": must be one of exact, quick");
}

TEST(HostileInput, LimitsTheNumberOfMessages) {
    EXPECT_EQ(problems_of(bowl_job + "rounds2 = [" + repeated("1,", 200000) + "]\n"),
              "b.toml:7: unknown key roll.rounds2; did you mean roll.rounds?");
    std::string many = bowl_job;
    for (int i = 0; i < 1000; ++i) many += "key" + std::to_string(i) + " = 1\n";
    const auto text = problems_of(many);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 50);
    EXPECT_TRUE(text.ends_with("b.toml: 950 more problems"));
    EXPECT_LT(problems_of(bowl_job + "mode = \"" + std::string(500000, 'q') + "\"\n").size(), 400u);
}

}  // namespace
}  // namespace voltpile::testing
