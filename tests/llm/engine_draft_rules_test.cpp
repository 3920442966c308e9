// Where a text ends, and what is reported of its tokens, does not depend on guesses ahead. The executor draws
// what the prompt says, so that all guesses are right.
#include <numeric>

#include "llm/engine/engine.h"
#include "llm/grammar_fixture.h"
#include "llm/told_executor.h"

namespace voltpile::llm::engine_draft_rules_test {
namespace {

constexpr std::uint64_t seed_of_text = 1;

EngineSettings settings_with(int draft_tokens) {
    EngineSettings settings;
    settings.scheduler.limits = {256, 4, 16, 64};
    settings.scheduler.pages = 64;
    settings.scheduler.context = 256;
    settings.scheduler.sequences = 4;
    settings.scheduler.draft_tokens = draft_tokens;
    settings.end_ids = {2};
    return settings;
}

class RightGuesses : public testing::Test {
  protected:
    RightGuesses() {
        text_.resize(40);
        std::iota(text_.begin(), text_.end(), 60);
        request_.prompt = text_;
        request_.max_tokens = 40;
        request_.sampling.seed = seed_of_text;
    }

    Outcome answer(const Tokenizer* tokenizer = nullptr, const OnDelta& on_delta = {}) {
        ToldExecutor executor;
        executor.told[seed_of_text] = text_;
        Engine engine(executor, tokenizer, settings_with(8));
        std::optional<Outcome> outcome;
        engine.submit(request_, on_delta, [&](Outcome ended) { outcome = std::move(ended); });
        while (!engine.idle()) engine.step();
        EXPECT_EQ(engine.counters().scheduler.pages_in_use, 0);
        EXPECT_EQ(engine.counters().right_tokens, outcome->right_tokens);
        EXPECT_EQ(engine.counters().drafted_tokens, outcome->drafted_tokens);
        EXPECT_EQ(engine.counters().steps, outcome->steps);
        return *outcome;
    }
    std::vector<std::int32_t> first(int count) const { return {text_.begin(), text_.begin() + count}; }

    std::vector<std::int32_t> text_;  // the prompt, and what is drawn
    Request request_;
};

TEST_F(RightGuesses, SaveMostPasses) {
    const Outcome outcome = answer();
    EXPECT_EQ(outcome.tokens, text_);
    EXPECT_EQ(outcome.finish, Finish::Length);
    EXPECT_EQ(outcome.steps + outcome.right_tokens, 40);
    EXPECT_EQ(outcome.right_tokens, outcome.drafted_tokens);
    // The first two tokens take a pass each, and so do, with feeds, up to two that were in flight. Then 9 a
    // pass.
    EXPECT_LE(outcome.steps, 4 + 36 / 9 + 1);
}

TEST_F(RightGuesses, StopAtTheLimitOfTokens) {
    for (request_.max_tokens = 1; request_.max_tokens <= 40; ++request_.max_tokens) {
        const Outcome outcome = answer();
        EXPECT_EQ(outcome.tokens, first(request_.max_tokens));
        EXPECT_EQ(outcome.finish, Finish::Length);
        EXPECT_EQ(outcome.token_seconds.size(), outcome.tokens.size());
    }
}

TEST_F(RightGuesses, StopAtAnEndToken) {
    for (std::size_t end = 3; end < 30; ++end) {
        const std::int32_t before = std::exchange(text_[end], 2);
        request_.prompt = text_;
        const Outcome outcome = answer();
        EXPECT_EQ(outcome.tokens, first(static_cast<int>(end)));
        EXPECT_EQ(outcome.finish, Finish::End);
        text_[end] = before;
    }
}

TEST_F(RightGuesses, StopAtAStopToken) {
    for (std::size_t end = 3; end < 30; ++end) {
        request_.stop_tokens = {text_[end]};
        const Outcome outcome = answer();
        EXPECT_EQ(outcome.tokens, first(static_cast<int>(end)));
        EXPECT_EQ(outcome.finish, Finish::Stopped);
    }
}

// The tokens are those of the bytes 57 to 96 (token - 3), "9:;<=>?@ABC...", each a character.
TEST_F(RightGuesses, StopAtAStopString) {
    const Tokenizer tokenizer = grammar_tokenizer();
    const std::string all = tokenizer.decode(text_);
    ASSERT_EQ(all.size(), text_.size());
    for (std::size_t end = 3; end < 30; ++end) {
        request_.stop = {all.substr(end, 3)};
        const Outcome outcome = answer(&tokenizer);
        EXPECT_EQ(outcome.text, all.substr(0, end));
        EXPECT_EQ(outcome.tokens, first(static_cast<int>(end) + 3));
        EXPECT_EQ(outcome.finish, Finish::Stopped);
    }
}

TEST_F(RightGuesses, StopWhenTheCallerSaysSo) {
    const Tokenizer tokenizer = grammar_tokenizer();
    for (std::size_t wanted = 3; wanted < 30; ++wanted) {
        std::size_t told = 0;
        const Outcome outcome =
            answer(&tokenizer, [&](const Delta& delta) { return (told += delta.tokens.size()) < wanted; });
        EXPECT_EQ(outcome.tokens.size(), wanted);
        EXPECT_EQ(told, wanted);
        EXPECT_EQ(outcome.finish, Finish::Stopped);
    }
}

TEST_F(RightGuesses, FillTheContext) {
    for (int prompt = 225; prompt < 256; ++prompt) {
        request_.prompt.resize(static_cast<std::size_t>(prompt) - text_.size(), 40);
        request_.prompt.insert(request_.prompt.end(), text_.begin(), text_.end());
        request_.max_tokens = 0;
        const Outcome outcome = answer();
        EXPECT_EQ(outcome.tokens, first(256 - prompt));
        EXPECT_EQ(outcome.finish, Finish::Context);
    }
}

TEST_F(RightGuesses, ReportEachTokenAsItWasDrawn) {
    request_.top_n = 2;
    const Outcome outcome = answer();
    EXPECT_GT(outcome.right_tokens, 20);
    ASSERT_EQ(outcome.top.size(), 40U);
    for (int i = 0; i < 40; ++i) {
        const auto at = static_cast<std::size_t>(i);
        EXPECT_EQ(outcome.log_probability[at], -0.5F * static_cast<float>(i));
        EXPECT_EQ(outcome.top[at].token, (std::vector<std::int32_t>{i, i + 1}));
    }
}

TEST_F(RightGuesses, FailWhereAPlainTextWould) {
    for (std::size_t bad = 3; bad < 30; ++bad) {
        const std::int32_t before = std::exchange(text_[bad], -1);
        const Outcome outcome = answer();
        EXPECT_EQ(outcome.tokens, first(static_cast<int>(bad)));
        EXPECT_EQ(outcome.finish, Finish::Failed);
        EXPECT_EQ(outcome.error, "layer 3");
        text_[bad] = before;
    }
}

}  // namespace
}  // namespace voltpile::llm::engine_draft_rules_test
