// Windows of short texts; the expected ones were derived by hand from the definitions in eval_windows.h.
#include <gtest/gtest.h>

#include <numeric>

#include "job_error_text.h"
#include "llm/eval/eval_windows.h"

namespace voltpile::llm {
namespace {

constexpr std::int32_t begin = 99;

std::vector<std::int32_t> text(int tokens) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(tokens));
    std::iota(all.begin(), all.end(), 1);
    return all;
}

struct Expected {
    std::vector<std::int32_t> tokens;
    int first_scored;
};

void expect_windows(const EvalCut& cut, int tokens, const std::vector<Expected>& expected) {
    const auto all = text(tokens);
    const auto windows = cut_for_eval(all, cut);
    ASSERT_EQ(windows.size(), expected.size());
    for (std::size_t i = 0; i < windows.size(); ++i) {
        EXPECT_EQ(windows[i].tokens(), expected[i].tokens) << i;
        EXPECT_EQ(windows[i].first_scored, expected[i].first_scored) << i;
    }
}

TEST(EvalWindows, BeginWithTheBeginToken) {
    expect_windows({.window = 4, .begin_token = begin}, 7,
                   {{{begin, 1, 2, 3}, 1}, {{begin, 4, 5, 6}, 1}, {{begin, 7}, 1}});
}

TEST(EvalWindows, WithoutABeginTokenSkipFirstTokens) {
    // Token 9 is alone in its window, so no token precedes it.
    expect_windows({.window = 4}, 9, {{{1, 2, 3, 4}, 1}, {{5, 6, 7, 8}, 1}});
}

TEST(EvalWindows, OverlapIsOnlyContext) {
    expect_windows({.window = 5, .stride = 2}, 8,
                   {{{1, 2, 3, 4, 5}, 1}, {{3, 4, 5, 6, 7}, 3}, {{5, 6, 7, 8}, 3}});
    expect_windows({.window = 5, .stride = 2, .begin_token = begin}, 6,
                   {{{begin, 1, 2, 3, 4}, 1}, {{begin, 3, 4, 5, 6}, 3}});
}

// Copying the text for each of ten million windows would exhaust the memory.
TEST(EvalWindows, ShareOneCopyOfTheText) {
    const auto all = text(50);
    const auto windows = cut_for_eval(all, {.window = 20, .stride = 1, .begin_token = begin});
    ASSERT_EQ(windows.size(), 32U);
    for (std::size_t i = 0; i < windows.size(); ++i) EXPECT_EQ(windows[i].text.data(), &all[i]);
}

TEST(EvalWindows, SecondHalvesOfWholeWindows) {
    // llama.cpp with n_ctx = 4 uses the logits from the third token on, for the tokens after them.
    const EvalCut cut{.method = EvalMethod::SecondHalves, .window = 4, .begin_token = begin};
    expect_windows(cut, 9, {{{begin, 1, 2, 3}, 3}, {{begin, 5, 6, 7}, 3}});
    expect_windows({.method = EvalMethod::SecondHalves, .window = 5}, 5, {{{1, 2, 3, 4, 5}, 3}});
}

TEST(EvalWindows, ScoreEachTokenOnce) {
    for (int window = 2; window < 9; ++window) {
        for (int stride = 1; stride < window; ++stride) {
            std::vector<int> scored(20, 0);
            const auto all = text(19);
            for (const EvalWindow& each :
                 cut_for_eval(all, {.window = window, .stride = stride, .begin_token = begin})) {
                const auto tokens = each.tokens();
                for (auto i = static_cast<std::size_t>(each.first_scored); i < tokens.size(); ++i)
                    ++scored[static_cast<std::size_t>(tokens[i])];
            }
            EXPECT_EQ(std::vector<int>(scored.begin() + 1, scored.end()), std::vector<int>(19, 1))
                << window << " " << stride;
        }
    }
}

TEST(EvalWindows, RejectImpossibleCuts) {
    const auto message = [](int tokens, const EvalCut& cut) {
        const auto all = text(tokens);
        return message_of([&] { cut_for_eval(all, cut); });
    };
    EXPECT_NE(message(0, {.window = 4, .begin_token = begin}).find("too short"), std::string::npos);
    EXPECT_NE(message(1, {.window = 4}).find("too short"), std::string::npos);
    EXPECT_NE(message(3, {.method = EvalMethod::SecondHalves, .window = 4}).find("too short"),
              std::string::npos);
    EXPECT_NE(message(9, {.window = 4, .stride = 4, .begin_token = begin}).find("leave tokens out"),
              std::string::npos);
    EXPECT_NE(message(9, {.method = EvalMethod::SecondHalves, .window = 4, .stride = 2}).find("no stride"),
              std::string::npos);
    EXPECT_NE(message(9, {.window = 1}).find("windows of 1"), std::string::npos);
}

}  // namespace
}  // namespace voltpile::llm
