// An engine with requests and cancellations from other threads, and callbacks that fail.
#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "llm/engine/engine.h"
#include "llm/told_executor.h"

namespace voltpile::llm::engine_inbox_test {
namespace {

EngineSettings settings_of(int pages) {
    EngineSettings settings;
    settings.scheduler.limits = {32, 4, 4, 4};
    settings.scheduler.pages = pages;
    settings.scheduler.context = 64;
    settings.scheduler.sequences = 3;
    return settings;
}

Request request_of(std::int64_t id, int prompt, int max_tokens) {
    Request request;
    request.id = id;
    for (int i = 0; i < prompt; ++i)
        request.prompt.push_back(static_cast<std::int32_t>(id % 100 + 1));  // shares pages with no other
    request.max_tokens = max_tokens;
    request.sampling.seed = static_cast<std::uint64_t>(id);
    return request;
}

std::vector<std::int32_t> told_tokens(std::int64_t id, int count) {
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < count; ++i)
        tokens.push_back(ToldExecutor::told_token(static_cast<std::uint64_t>(id), i));
    return tokens;
}

double cpu_seconds_of_this_thread() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class EngineInbox : public testing::Test {
  protected:
    void finish() {
        while (!engine_.idle()) keep(engine_.step());
    }
    void keep(std::vector<Outcome> outcomes) {
        for (Outcome& outcome : outcomes) outcomes_.emplace(outcome.id, std::move(outcome));
    }
    int pages_in_use() const { return engine_.counters().scheduler.pages_in_use; }

    ToldExecutor executor_;
    Engine engine_{executor_, nullptr, settings_of(16)};
    std::map<std::int64_t, Outcome> outcomes_;
};

TEST_F(EngineInbox, AnswersRequestsOfSeveralThreads) {
    constexpr int clients = 4, requests = 50;
    std::jthread engine([&] {
        while (engine_.wait()) EXPECT_TRUE(engine_.step().empty());
    });
    const auto client = [&](int number) {
        for (int i = 0; i < requests; ++i) {
            const std::int64_t id = number * requests + i;
            const int tokens = 1 + static_cast<int>(id % 7);
            std::promise<Outcome> promise;
            std::vector<std::int32_t> deltas;
            engine_.submit(
                request_of(id, 1 + i % 20, tokens),
                [&](const Delta& delta) {
                    deltas.insert(deltas.end(), delta.tokens.begin(), delta.tokens.end());
                    return true;
                },
                [&](Outcome outcome) { promise.set_value(std::move(outcome)); });
            const bool cancels = i % 5 == 4;
            if (cancels) engine_.cancel(id);
            const Outcome outcome = promise.get_future().get();
            EXPECT_EQ(outcome.id, id);
            if (outcome.finish == Finish::Cancelled) {
                EXPECT_TRUE(cancels);
                continue;
            }
            EXPECT_EQ(outcome.finish, Finish::Length);
            EXPECT_EQ(outcome.tokens, told_tokens(id, tokens));
            EXPECT_EQ(deltas, outcome.tokens);
        }
    };
    {
        std::vector<std::jthread> threads;
        for (int number = 0; number < clients; ++number) threads.emplace_back(client, number);
    }
    engine_.close();
    engine.join();
    EXPECT_EQ(engine_.counters().requests, clients * requests);
    EXPECT_EQ(pages_in_use(), 0);
    EXPECT_TRUE(engine_.idle());
}

TEST_F(EngineInbox, SleepsUntilARequestComes) {
    std::promise<void> answered;
    double cpu_seconds = 0;
    std::jthread engine([&] {
        const double before = cpu_seconds_of_this_thread();
        EXPECT_TRUE(engine_.wait());
        cpu_seconds = cpu_seconds_of_this_thread() - before;
        while (!engine_.idle()) engine_.step();
        EXPECT_FALSE(engine_.wait());
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    engine_.submit(request_of(1, 3, 2), {}, [&](Outcome) { answered.set_value(); });
    answered.get_future().wait();
    engine_.close();
    engine.join();
    EXPECT_LT(cpu_seconds, 0.02);  // polling would take most of 0.2 s
}

TEST_F(EngineInbox, ClosesAfterTheLastAnswer) {
    engine_.submit(request_of(1, 3, 2));
    engine_.close();
    EXPECT_THROW(engine_.submit(request_of(2, 3, 2)), QueueClosed);
    while (engine_.wait()) keep(engine_.step());
    EXPECT_EQ(outcomes_.at(1).tokens, told_tokens(1, 2));
}

TEST_F(EngineInbox, RejectsAnIdInUse) {
    engine_.submit(request_of(1, 3, 2));
    EXPECT_THROW(engine_.submit(request_of(1, 3, 2)), std::invalid_argument);
    finish();
    engine_.submit(request_of(1, 3, 2));
    finish();
    EXPECT_EQ(engine_.counters().requests, 2);
}

TEST_F(EngineInbox, CancelsBeforeAdmission) {
    engine_.submit(request_of(1, 3, 9));
    engine_.cancel(1);
    EXPECT_EQ(engine_.counters().scheduler.waiting, 1);
    keep(engine_.step());
    EXPECT_EQ(outcomes_.at(1).finish, Finish::Cancelled);
    EXPECT_TRUE(outcomes_.at(1).tokens.empty());
    EXPECT_GE(outcomes_.at(1).queue_seconds, 0);
    EXPECT_TRUE(engine_.idle());
    EXPECT_EQ(engine_.counters().passes, 0);
}

TEST_F(EngineInbox, CancelsInTheQueue) {
    for (int id = 1; id <= 5; ++id) engine_.submit(request_of(id, 3, 9));
    keep(engine_.step());
    ASSERT_EQ(engine_.counters().scheduler.waiting, 2);  // three run at once
    engine_.cancel(5);
    keep(engine_.step());
    EXPECT_EQ(outcomes_.at(5).finish, Finish::Cancelled);
    finish();
    EXPECT_EQ(outcomes_.size(), 5U);
    EXPECT_EQ(outcomes_.at(4).tokens, told_tokens(4, 9));
    EXPECT_EQ(pages_in_use(), 0);
}

TEST_F(EngineInbox, CancelsWhileThePromptIsRead) {
    engine_.submit(request_of(1, 60, 4));  // a pass has 32 rows, and two are in flight
    keep(engine_.step());
    ASSERT_EQ(engine_.counters().tokens_out, 0);
    ASSERT_EQ(pages_in_use(), 4);
    engine_.cancel(1);
    keep(engine_.step());
    EXPECT_EQ(outcomes_.at(1).finish, Finish::Cancelled);
    EXPECT_EQ(pages_in_use(), 0);
    finish();
}

TEST_F(EngineInbox, CancelsWhileItGenerates) {
    engine_.submit(request_of(1, 20, 30));
    engine_.submit(request_of(2, 20, 30));
    for (int i = 0; i < 5; ++i) keep(engine_.step());
    ASSERT_TRUE(outcomes_.empty());
    const int before = pages_in_use();
    engine_.cancel(1);
    keep(engine_.step());  // one decode step
    const Outcome& cancelled = outcomes_.at(1);
    EXPECT_EQ(cancelled.finish, Finish::Cancelled);
    EXPECT_FALSE(cancelled.tokens.empty());
    EXPECT_EQ(cancelled.tokens, told_tokens(1, static_cast<int>(cancelled.tokens.size())));
    EXPECT_LT(pages_in_use(), before);
    engine_.cancel(1);   // has ended
    engine_.cancel(77);  // never was
    finish();
    EXPECT_EQ(outcomes_.at(2).tokens, told_tokens(2, 30));
    EXPECT_EQ(pages_in_use(), 0);
    EXPECT_EQ(engine_.counters().cancelled, 1);
}

TEST(EnginePreemption, CancelsWhilePreempted) {
    ToldExecutor executor;
    Engine engine(executor, nullptr, settings_of(5));
    std::map<std::int64_t, Outcome> outcomes;
    const auto step = [&] {
        for (Outcome& outcome : engine.step()) outcomes.emplace(outcome.id, std::move(outcome));
    };
    engine.submit(request_of(1, 20, 40));
    engine.submit(request_of(2, 20, 40));
    while (engine.counters().scheduler.preemptions == 0) step();
    ASSERT_TRUE(outcomes.empty());
    engine.cancel(2);
    step();
    EXPECT_EQ(outcomes.at(2).finish, Finish::Cancelled);
    while (!engine.idle()) step();
    EXPECT_EQ(outcomes.at(1).tokens, told_tokens(1, 40));
    EXPECT_EQ(engine.counters().scheduler.pages_in_use, 0);
}

TEST_F(EngineInbox, ThrowingCallbackFailsItsRequestAlone) {
    int calls = 0;
    engine_.submit(request_of(1, 3, 9), [&](const Delta&) -> bool {
        if (++calls == 3) throw std::runtime_error("the pipe is broken");
        return true;
    });
    engine_.submit(request_of(2, 3, 9));
    engine_.submit(request_of(3, 3, 1), {}, [](const Outcome&) { throw std::runtime_error("lost"); });
    finish();
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(outcomes_.size(), 2U);
    EXPECT_EQ(outcomes_.at(1).finish, Finish::Failed);
    EXPECT_EQ(outcomes_.at(1).error, "the pipe is broken");
    EXPECT_EQ(outcomes_.at(1).tokens.size(), 3U);
    EXPECT_THROW(std::rethrow_exception(outcomes_.at(1).thrown), std::runtime_error);
    EXPECT_EQ(outcomes_.at(2).tokens, told_tokens(2, 9));
    EXPECT_EQ(engine_.counters().failed, 1);
    EXPECT_EQ(pages_in_use(), 0);
}

TEST_F(EngineInbox, FailedPassEndsAllRequestsAndClosesTheQueue) {
    std::map<std::int64_t, std::string> errors;
    for (const std::int64_t id : {1, 2})
        engine_.submit(request_of(id, 3, 9), {},
                       [&](const Outcome& outcome) { errors[outcome.id] = outcome.error; });
    keep(engine_.step());
    executor_.broken = true;
    EXPECT_THROW(engine_.step(), DeviceError);
    EXPECT_EQ(errors.at(1), "the GPU is lost");
    EXPECT_EQ(errors.at(2), "the GPU is lost");
    EXPECT_THROW(engine_.submit(request_of(3, 3, 9)), QueueClosed);
}

TEST_F(EngineInbox, CallbacksMayUseTheQueue) {
    engine_.submit(request_of(1, 3, 9), [&](const Delta& delta) {
        if (!delta.tokens.empty()) engine_.cancel(1);
        return true;
    });
    engine_.submit(request_of(2, 3, 2), {}, [&](const Outcome&) { engine_.submit(request_of(2, 3, 4)); });
    finish();
    EXPECT_EQ(outcomes_.at(1).finish, Finish::Cancelled);
    EXPECT_EQ(outcomes_.at(2).tokens, told_tokens(2, 4));
}

TEST_F(EngineInbox, ReportsPagesAndCachedTokens) {
    EXPECT_EQ(engine_.counters().scheduler.pages, 16);
    engine_.submit(request_of(1, 40, 2));
    finish();
    EXPECT_EQ(outcomes_.at(1).cached_tokens, 0);
    engine_.submit(request_of(101, 40, 2));  // the same prompt
    finish();
    EXPECT_EQ(outcomes_.at(101).cached_tokens, 32);  // two pages of 16 tokens; the third is not full
}

TEST(EngineTokens, RejectsTokensThatTheModelLacks) {
    ToldExecutor executor;
    EngineSettings settings = settings_of(16);
    settings.vocabulary = 60;
    Engine engine(executor, nullptr, settings);
    Request request = request_of(1, 3, 2);
    request.prompt[1] = 60;
    EXPECT_THROW(engine.submit(request), JobError);
    request.prompt[1] = -1;
    EXPECT_THROW(engine.submit(request), JobError);
    request.prompt[1] = 59;
    request.sampling.logit_bias[60] = 1;
    EXPECT_THROW(engine.submit(request), JobError);
    request.sampling.logit_bias = {{59, 1.0F}};
    EXPECT_NO_THROW(engine.submit(request));
}

}  // namespace
}  // namespace voltpile::llm::engine_inbox_test
