// The outcomes of an engine, on an executor that draws the tokens given by the test.
#include "llm/engine/engine.h"

#include <gtest/gtest.h>

#include "llm/job_error_text.h"
#include "llm/told_executor.h"

namespace voltpile::llm {
namespace {

constexpr std::int32_t end_token = 1;

class EngineTest : public testing::Test {
  protected:
    static EngineSettings settings() {
        EngineSettings settings;
        settings.end_ids = {end_token, 77};
        settings.scheduler.limits = {64, 8, 4, 8};
        settings.scheduler.pages = 32;
        settings.scheduler.context = 20;
        settings.scheduler.sequences = 8;
        return settings;
    }
    void ask(Request request, std::vector<std::int32_t> told, OnDelta on_delta = {}) {
        request.prompt = {static_cast<std::int32_t>(request.id), 3, 4};
        request.sampling.seed = static_cast<std::uint64_t>(request.id);
        executor_.told[request.sampling.seed] = std::move(told);
        engine_.submit(request, std::move(on_delta));
    }
    std::map<std::int64_t, Outcome> answers() {
        std::map<std::int64_t, Outcome> all;
        while (!engine_.idle())
            for (Outcome& outcome : engine_.step()) all[outcome.id] = std::move(outcome);
        return all;
    }

    ToldExecutor executor_;
    Engine engine_{executor_, nullptr, settings()};
};

TEST_F(EngineTest, ReportsWhyEachSequenceEnds) {
    const auto request = [](std::int64_t id, int max_tokens) {
        Request made;
        made.id = id;
        made.max_tokens = max_tokens;
        return made;
    };
    ask(request(1, 9), {8, 9, end_token});
    ask(request(2, 3), {8, end_token, 9});
    ask(request(3, 3), {8, 77, 9, 8});
    ask(request(4, 0), std::vector<std::int32_t>(30, 6));
    ask(request(5, 3), {8, 9, end_token});  // the last allowed token is an end token
    Request more = request(6, 9);
    more.stop_tokens = {12, 13};
    more.ignore_end = true;
    ask(more, {8, end_token, 13});
    ask(request(7, 9), {8, -1});
    more = request(8, 2);
    more.top_n = 2;
    ask(more, {8, 9});

    const auto all = answers();
    const auto expect = [&](std::int64_t id, Finish finish, const std::vector<std::int32_t>& tokens) {
        EXPECT_EQ(all.at(id).finish, finish) << id;
        EXPECT_EQ(all.at(id).tokens, tokens) << id;
        EXPECT_EQ(all.at(id).log_probability.size(), tokens.size()) << id;
        EXPECT_EQ(all.at(id).prompt_tokens, 3);
    };
    expect(1, Finish::End, {8, 9});
    expect(2, Finish::End, {8});
    expect(3, Finish::End, {8});
    expect(4, Finish::Context, std::vector<std::int32_t>(17, 6));
    expect(5, Finish::End, {8, 9});
    expect(6, Finish::Stopped, {8, end_token});
    expect(7, Finish::Failed, {8});
    expect(8, Finish::Length, {8, 9});
    EXPECT_EQ(all.at(7).error, "layer 3");
    EXPECT_EQ(all.at(1).error, "");
    EXPECT_EQ(all.at(1).log_probability, (std::vector{0.0F, -0.5F}));
    ASSERT_EQ(all.at(8).top.size(), 2U);
    EXPECT_EQ(all.at(8).top[1].token, (std::vector{1, 2}));
    EXPECT_TRUE(all.at(1).top.empty());

    const EngineCounters counters = engine_.counters();
    EXPECT_EQ(counters.requests, 8);
    EXPECT_EQ(counters.tokens_in, 8 * 3);
    EXPECT_EQ(counters.tokens_out, 2 + 1 + 1 + 17 + 2 + 2 + 1 + 2);
    EXPECT_EQ(counters.largest_batch, 8);
}

TEST_F(EngineTest, ReportsTheTimesOfARequest) {
    Request request;
    request.id = 1;
    request.max_tokens = 4;
    ask(request, {8, 9, 8, 9});
    const auto all = answers();
    const Outcome& outcome = all.at(1);
    ASSERT_EQ(outcome.token_seconds.size(), 4U);
    // Up to the rounding of sums of three times.
    EXPECT_NEAR(outcome.queue_seconds + outcome.prompt_seconds, outcome.token_seconds.front(), 1e-12);
    EXPECT_NEAR(outcome.queue_seconds + outcome.prompt_seconds + outcome.generation_seconds,
                outcome.token_seconds.back(), 1e-12);
}

TEST_F(EngineTest, CallsBackForEachTokenUntilItReturnsFalse) {
    std::map<std::int64_t, std::vector<std::int32_t>> told;
    const auto tell = [&](std::int64_t id, std::size_t wanted) {
        return [&told, id, wanted](const Delta& delta) {
            told[id].insert(told[id].end(), delta.tokens.begin(), delta.tokens.end());
            return told[id].size() < wanted;
        };
    };
    Request request;
    request.max_tokens = 9;
    request.id = 1;
    ask(request, {8, 9, end_token}, tell(1, 100));
    request.id = 2;
    ask(request, {8, 9, 10, 11}, tell(2, 3));
    while (told[2].empty()) EXPECT_TRUE(engine_.step().empty());
    EXPECT_EQ(told[2].size(), 1U);  // at once
    const auto all = answers();
    EXPECT_EQ(all.at(1).finish, Finish::End);
    EXPECT_EQ(all.at(2).finish, Finish::Stopped);
    EXPECT_EQ(told[1], (std::vector{8, 9}));
    EXPECT_EQ(told[2], (std::vector{8, 9, 10}));
    EXPECT_EQ(all.at(1).tokens, told[1]);
    EXPECT_EQ(all.at(2).tokens, told[2]);
}

// Otherwise a chat would draw every answer like the first one.
TEST_F(EngineTest, DrawsFromTheGivenNumberOn) {
    Request request;
    request.id = 1;
    request.max_tokens = 2;
    request.first_draw = 1;
    ask(request, {8, 9, 10});
    EXPECT_EQ(answers().at(1).tokens, (std::vector{9, 10}));
}

TEST_F(EngineTest, AbandonsPassesInFlight) {
    Request request;
    for (request.id = 1; request.id < 12; ++request.id) ask(request, {});
    EXPECT_TRUE(engine_.step().empty());
    EXPECT_FALSE(engine_.idle());
    engine_.abandon();
    EXPECT_TRUE(engine_.idle());
    EXPECT_EQ(executor_.under_way(), 0U);
    EXPECT_EQ(engine_.counters().scheduler.pages_in_use, 0);
    request.id = 1;
    request.max_tokens = 2;
    ask(request, {8, 9});
    EXPECT_EQ(answers().at(1).tokens, (std::vector{8, 9}));
}

TEST_F(EngineTest, RefusesStopStringsWithoutATokenizer) {
    Request request;
    request.stop = {"."};
    EXPECT_EQ(message_of([&] { ask(request, {}); }), "stop strings need a model with a tokenizer");
    request.stop.clear();
    request.max_tokens = 18;
    EXPECT_EQ(message_of([&] { ask(request, {}); }),
              "a prompt of 3 tokens and 18 more do not fit into a context of 20");
    EXPECT_TRUE(engine_.idle());
}

}  // namespace
}  // namespace voltpile::llm
