#include "job/nearest.h"

#include <gtest/gtest.h>

namespace voltpile {
namespace {

TEST(Nearest, CountsInsertionsDeletionsSubstitutionsAndTranspositions) {
    EXPECT_EQ(edit_distance("", ""), 0);
    EXPECT_EQ(edit_distance("abc", ""), 3);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3);  // the textbook example
    EXPECT_EQ(edit_distance("stpes", "steps"), 1);     // one swap
    EXPECT_EQ(edit_distance("G", "g"), 0);
}

TEST(Nearest, SuggestsOnlyCloseWords) {
    const std::vector<std::string> words{"euler", "leapfrog", "rk4"};
    EXPECT_EQ(nearest_word("eulr", words), "euler");
    EXPECT_EQ(nearest_word("Leap-frog", words), "leapfrog");
    EXPECT_EQ(nearest_word("zzz", words), std::nullopt);
    EXPECT_EQ(nearest_word("", words), std::nullopt);
    EXPECT_EQ(nearest_word(std::string(1000000, 'e'), words), std::nullopt);
}

TEST(Nearest, FindsKeyInAnotherTable) {
    const std::vector<std::string> paths{"system.G", "integrate.dt", "integrate.steps", "run.steps"};
    EXPECT_EQ(nearest_path("integrate.stpes", paths), "integrate.steps");
    EXPECT_EQ(nearest_path("run.step", paths), "run.steps");
    EXPECT_EQ(nearest_path("output.field", std::vector<std::string>{"refine.field", "output.fields"}),
              "output.fields");
    EXPECT_EQ(nearest_path("dt", paths), "integrate.dt");
    EXPECT_EQ(nearest_path("system.g", paths), "system.G");
    EXPECT_EQ(nearest_path("system.x", paths), std::nullopt);  // one letter is near to any other
}

}  // namespace
}  // namespace voltpile
