// Log-probabilities of prompts, over an executor that answers each draw with the place of its row.
#include <gtest/gtest.h>

#include <bit>
#include <deque>

#include "llm/engine/engine.h"

namespace voltpile::llm {
namespace {

class PlacesExecutor final : public PassExecutor {
  public:
    PlacesExecutor(int lanes, bool feeds, int most_logits)
        : lanes_(lanes), feeds_(feeds), most_logits_(most_logits) {}

    int lanes() const override { return lanes_; }
    bool feeds() const override { return feeds_; }
    void enqueue(const PlannedPass& pass) override {
        EXPECT_EQ(pass.draws.size(), pass.batch.logit_row.size());
        EXPECT_LE(std::ssize(pass.draws), most_logits_);
        std::vector<DrawnToken>& drawn = under_way_.emplace_back();
        for (std::size_t i = 0; i < pass.draws.size(); ++i) {
            const auto row = static_cast<std::size_t>(pass.batch.logit_row[i]);
            const auto place = static_cast<float>(pass.batch.position[row]);
            drawn.push_back({token_for(pass.draws[i]), place});
        }
    }
    std::vector<DrawnToken> collect() override {
        auto drawn = std::move(under_way_.front());
        under_way_.pop_front();
        return drawn;
    }

  private:
    // The only token that the mask allows, or 7.
    static std::int32_t token_for(const Draw& draw) {
        if (!draw.mask) return 7;
        EXPECT_EQ(std::popcount(draw.mask->back()), 1);
        return static_cast<std::int32_t>(draw.mask->size() - 1) * 32 + std::countr_zero(draw.mask->back());
    }

    int lanes_;
    bool feeds_;
    int most_logits_;
    std::deque<std::vector<DrawnToken>> under_way_;
};

struct ScoresCase {
    int lanes;
    bool feeds;
    int pages;  // few: sequences are preempted
};

class EngineScores : public testing::TestWithParam<ScoresCase> {};
INSTANTIATE_TEST_SUITE_P(Executors, EngineScores,
                         testing::Values(ScoresCase{1, false, 200}, ScoresCase{1, true, 200},
                                         ScoresCase{2, false, 200}, ScoresCase{1, false, 24},
                                         ScoresCase{2, false, 24}, ScoresCase{1, true, 24}));

TEST_P(EngineScores, EachTokenOfThePromptHasItsOwn) {
    const ScoresCase each = GetParam();
    constexpr int most_logits = 5;
    EngineSettings settings;
    settings.scheduler.limits = {64, 5, 12, most_logits};
    settings.scheduler.pages = each.pages;
    settings.scheduler.context = 180;
    settings.scheduler.sequences = 5;
    PlacesExecutor executor(each.lanes, each.feeds, most_logits);
    Engine engine(executor, nullptr, settings);
    constexpr int requests = 9;
    for (int id = 0; id < requests; ++id) {
        Request request;
        request.id = id;
        request.prompt.resize(static_cast<std::size_t>(id == 0 ? 1 : 10 * id));
        for (std::size_t i = 0; i < request.prompt.size(); ++i)
            request.prompt[i] = static_cast<std::int32_t>(i % 100);
        request.max_tokens = 95;
        request.score_prompt = id % 3 != 2;
        engine.submit(std::move(request));
    }
    int ended = 0;
    while (!engine.idle())
        for (const Outcome& outcome : engine.step()) {
            ++ended;
            EXPECT_EQ(outcome.finish, Finish::Length);
            EXPECT_EQ(outcome.tokens, std::vector<std::int32_t>(95, 7));
            std::vector<float> expected;
            const int prompt = outcome.id == 0 ? 1 : 10 * static_cast<int>(outcome.id);
            for (int i = 0; outcome.id % 3 != 2 && i + 1 < prompt; ++i)
                expected.push_back(static_cast<float>(i));
            EXPECT_EQ(outcome.prompt_log_probability, expected) << outcome.id;
            EXPECT_EQ(outcome.log_probability.front(), static_cast<float>(prompt - 1));
        }
    EXPECT_EQ(ended, requests);
    EXPECT_EQ(engine.counters().scheduler.preemptions > 0, each.pages < 100);
    EXPECT_EQ(engine.counters().scheduler.pages_in_use, 0);
}

}  // namespace
}  // namespace voltpile::llm
