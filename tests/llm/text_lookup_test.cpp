#include "llm/engine/text_lookup.h"

#include <gtest/gtest.h>

#include <numeric>

namespace voltpile::llm {
namespace {

using Tokens = std::vector<std::int32_t>;

TEST(TextLookup, GivesWhatFollowedTheEndBefore) {
    EXPECT_EQ(look_up_next(Tokens{1, 2, 3, 4, 5, 6, 1, 2}, 3), (Tokens{3, 4, 5}));
    EXPECT_EQ(look_up_next(Tokens{1, 2, 3, 4, 5, 6, 1, 2}, 1), (Tokens{3}));
}

TEST(TextLookup, PrefersTheLongestMatch) {
    // 8 1 2 came once, 1 2 alone came later.
    EXPECT_EQ(look_up_next(Tokens{8, 1, 2, 3, 3, 9, 1, 2, 4, 4, 8, 1, 2}, 2), (Tokens{3, 3}));
}

TEST(TextLookup, PrefersTheLastOfEqualMatches) {
    EXPECT_EQ(look_up_next(Tokens{7, 1, 2, 3, 3, 9, 1, 2, 4, 4, 8, 1, 2}, 2), (Tokens{4, 4}));
}

TEST(TextLookup, GoesOnRepeating) {
    EXPECT_EQ(look_up_next(Tokens{9, 1, 2, 3, 1, 2, 3, 1, 2}, 7), (Tokens{3, 1, 2, 3, 1, 2, 3}));
    EXPECT_EQ(look_up_next(Tokens{5, 5, 5}, 4), (Tokens{5, 5, 5, 5}));
}

TEST(TextLookup, FindsTheFirstTokens) {
    EXPECT_EQ(look_up_next(Tokens{1, 2, 3, 1, 2}, 1), (Tokens{3}));
}

TEST(TextLookup, GivesNothingWithoutAMatch) {
    EXPECT_TRUE(look_up_next(Tokens{1, 2, 3, 4, 5}, 4).empty());
    EXPECT_TRUE(look_up_next(Tokens{1, 2, 3, 4, 2}, 4).empty()) << "one token alone recurs by chance";
}

TEST(TextLookup, TakesAnyLength) {
    for (const Tokens& text : {Tokens{}, Tokens{4}, Tokens{4, 4}}) EXPECT_TRUE(look_up_next(text, 4).empty());
    EXPECT_TRUE(look_up_next(Tokens{5, 5, 5}, 0).empty());
    EXPECT_TRUE(look_up_next(Tokens{5, 5, 5}, -1).empty());
}

// Beyond kMostMatch tokens a longer match does not count, so the last one wins.
TEST(TextLookup, ComparesAtMostSoManyTokens) {
    Tokens run(kMostMatch);
    std::iota(run.begin(), run.end(), 100);
    Tokens text{1};
    const auto add = [&](const Tokens& more) { text.insert(text.end(), more.begin(), more.end()); };
    add(run);
    add({2, 3});
    add(run);
    add({4, 1});
    add(run);
    EXPECT_EQ(look_up_next(text, 1), (Tokens{4}));
}

}  // namespace
}  // namespace voltpile::llm
