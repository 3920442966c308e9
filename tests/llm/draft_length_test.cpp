#include "llm/engine/draft_length.h"

#include <gtest/gtest.h>

#include <cmath>

namespace voltpile::llm {
namespace {

double like_one_row(int /*rows*/) {
    return 1;
}
double like_so_many_rows(int rows) {
    return rows;
}

// r + r^2 + ... + r^n = r (1 - r^n) / (1 - r).
TEST(DraftLength, AddsUpTheChancesOfRightGuesses) {
    EXPECT_DOUBLE_EQ(right_guesses(0, 0.5), 0);
    EXPECT_DOUBLE_EQ(right_guesses(3, 0.5), 0.875);
    EXPECT_NEAR(right_guesses(20, 0.9), 0.9 * (1 - std::pow(0.9, 20)) / 0.1, 1e-12);  // rounding
    EXPECT_DOUBLE_EQ(right_guesses(4, 1), 4);
}

TEST(DraftLength, GuessesAllThatIsFreeAndNothingThatIsNot) {
    EXPECT_EQ(best_guesses(8, 0.7, 1, 1, like_one_row), 8);
    EXPECT_EQ(best_guesses(8, 0.99, 1, 1, like_so_many_rows), 0);
    EXPECT_EQ(best_guesses(0, 1, 1, 1, like_one_row), 0);
    EXPECT_EQ(best_guesses(-1, 1, 1, 1, like_one_row), 0);
    EXPECT_EQ(best_guesses(8, 0.02, 1, 1, like_one_row), 0) << "below kLeastGain";
}

// With a pass of n rows at 4 + n and hit rate 1/2: 1/5 without guesses; 1.5/6, 1.75/7, 1.875/8 with 1, 2, 3.
TEST(DraftLength, WeighsChancesAgainstCosts) {
    const auto seconds = [](int rows) { return 4.0 + rows; };
    EXPECT_EQ(best_guesses(8, 0.5, 1, 1, seconds), 1);
    // 1/5; with a hit rate of 0.9: 1.9/6, 2.71/7, 3.439/8, 4.0951/9, 4.68559/10, 5.217031/11 ...
    EXPECT_EQ(best_guesses(5, 0.9, 1, 1, seconds), 5);
}

// Passes take the time of whole fours: the fourth row is as good as free, the fifth is not.
TEST(DraftLength, FillsUpAPassThatIsPaddedAnyway) {
    const auto seconds = [](int rows) { return static_cast<double>((rows + 3) / 4); };
    EXPECT_EQ(best_guesses(8, 0.6, 1, 1, seconds), 3);
    EXPECT_EQ(best_guesses(8, 0.6, 2, 2, seconds), 2);
    EXPECT_EQ(best_guesses(8, 0.6, 4, 4, seconds), 0);
}

// A pass takes 10 + rows, a guess 1 for all sequences. One row gives 1/11. With hit rate 1/2: 1.5/13,
// 1.75/15 = 0.1167, 1.875/17. With 0.9: 1.9/13, 2.71/15, 3.439/17, 4.0951/19, 4.68559/21, 5.217031/23, ...
TEST(BestDraftLengths, WeighTheDraftModelsTime) {
    const auto seconds = [](int rows) { return 10.0 + rows; };
    const auto draft = [](int) { return 1.0; };
    using Lengths = std::vector<int>;
    EXPECT_EQ(best_draft_lengths(std::vector<GuessChance>{{0.5, 8}}, 1, 64, seconds, draft), Lengths{2});
    EXPECT_EQ(best_draft_lengths(std::vector<GuessChance>{{0.9, 5}}, 1, 64, seconds, draft), Lengths{5});
    EXPECT_EQ(best_draft_lengths(std::vector<GuessChance>{{0.9, 5}}, 1, 4, seconds, draft), Lengths{3});
    EXPECT_EQ(best_draft_lengths(std::vector<GuessChance>{{0.1, 8}}, 1, 64, seconds, draft), Lengths{0});
    EXPECT_EQ(best_draft_lengths({}, 0, 64, seconds, draft), Lengths{});
    // A guess costs as much as a pass.
    const auto slow = [](int) { return 11.0; };
    EXPECT_EQ(best_draft_lengths(std::vector<GuessChance>{{0.9, 8}}, 1, 64, seconds, slow), Lengths{0});
}

// Two sequences: 2/12 without guesses. With one guess for the first alone 2.9/14 = 0.207, for both 3/15.
TEST(BestDraftLengths, LeaveOutSequencesThatAreOftenWrong) {
    const auto seconds = [](int rows) { return 10.0 + rows; };
    const auto draft = [](int) { return 1.0; };
    const std::vector<GuessChance> chances{{0.1, 1}, {0.9, 1}};
    EXPECT_EQ(best_draft_lengths(chances, 2, 64, seconds, draft), (std::vector<int>{0, 1}));
}

// Passes are padded to 1, 3 and 16 rows. Without guesses 1/10; with hit rate 0.7: 1.7/17 with one guess,
// which does not pay; 2.19/18 with two; 2.533/33 with three.
TEST(BestDraftLengths, LookBeyondAGuessThatDoesNotPay) {
    const auto seconds = [](int rows) { return rows == 1 ? 10.0 : rows <= 3 ? 16.0 : 30.0; };
    const auto draft = [](int) { return 1.0; };
    EXPECT_EQ(best_draft_lengths(std::vector<GuessChance>{{0.7, 8}}, 1, 64, seconds, draft).front(), 2);
}

TEST(GuessRecord, FollowsRecentGuesses) {
    GuessRecord record;
    EXPECT_DOUBLE_EQ(record.hit_rate(), 2.0 / 3);
    for (int i = 0; i < 30; ++i) record.learn(4, 0);
    EXPECT_LT(record.hit_rate(), 0.01);
    for (int i = 0; i < 3; ++i) record.learn(4, 4);
    EXPECT_GT(record.hit_rate(), 0.7);
}

TEST(GuessRecord, TriesAgainAfterAWhile) {
    GuessRecord record;
    for (int i = 0; i < 30; ++i) record.learn(4, 0);
    int skips = 0;
    while (best_guesses(4, record.hit_rate(), 1, 1, [](int rows) { return 16.0 + rows; }) == 0) {
        record.skip();
        ASSERT_LT(++skips, 100);
    }
    EXPECT_GT(skips, 3);
}

}  // namespace
}  // namespace voltpile::llm
