// Requests, answers and counters on their way between rank 0 and the leaders of replicas.
#include "llm/session/queue_message.h"

#include <gtest/gtest.h>

namespace voltpile::llm {
namespace {

Request request_with_every_field() {
    Request request;
    request.max_tokens = 17;
    request.ignore_end = true;
    request.sampling = {
        0.7F, 40, 0.9F, 0.05F, 1.1F, 0.2F, -0.3F, 0x123456789abcdef0U, {{3, -100.0F}, {9, 2.5F}}};
    request.stop = {"\n\n", "", "unto him"};
    request.top_n = 5;
    request.lora = "poet";
    request.grammar = GrammarSource{GrammarSource::Kind::Regex, "[0-9]{4}", true};
    request.channels = true;
    request.id = 1LL << 40;
    request.prompt = {1, 2, 32000};
    request.owner = 3;
    request.weight = 2.5;
    request.continues = true;
    request.first_draw = 12;
    request.stop_tokens = {2, 7};
    request.score_prompt = true;
    return request;
}

void expect_same(const SamplingSettings& a, const SamplingSettings& b) {
    // Naming all fields makes the compiler refuse a new one that is not compared.
    const auto& [temperature, top_k, top_p, min_p, repetition, presence, frequency, seed, bias] = a;
    EXPECT_EQ(temperature, b.temperature);
    EXPECT_EQ(top_k, b.top_k);
    EXPECT_EQ(top_p, b.top_p);
    EXPECT_EQ(min_p, b.min_p);
    EXPECT_EQ(repetition, b.repetition_penalty);
    EXPECT_EQ(presence, b.presence_penalty);
    EXPECT_EQ(frequency, b.frequency_penalty);
    EXPECT_EQ(seed, b.seed);
    EXPECT_EQ(bias, b.logit_bias);
}

TEST(QueueMessage, CarriesEveryFieldOfARequest) {
    static_assert(sizeof(Request) - sizeof(RequestSettings) == 112,
                  "a new field of Request: send it in queue_message.cpp, and add it to this test");
    const Request sent = request_with_every_field();
    const QueueOrder order = order_from_bytes(to_bytes(QueueOrder{QueueOrder::Kind::Submit, sent}));
    EXPECT_EQ(order.kind, QueueOrder::Kind::Submit);
    const Request& received = order.request;
    expect_same(sent.sampling, received.sampling);
    const auto& [max_tokens, ignore_end, sampling, stop, top_n, lora, grammar, channels] =
        static_cast<const RequestSettings&>(sent);
    EXPECT_EQ(max_tokens, received.max_tokens);
    EXPECT_EQ(ignore_end, received.ignore_end);
    EXPECT_EQ(stop, received.stop);
    EXPECT_EQ(top_n, received.top_n);
    EXPECT_EQ(lora, received.lora);
    EXPECT_EQ(grammar, received.grammar);
    EXPECT_EQ(channels, received.channels);
    EXPECT_EQ(sent.id, received.id);
    EXPECT_EQ(sent.prompt, received.prompt);
    EXPECT_EQ(sent.owner, received.owner);
    EXPECT_EQ(sent.weight, received.weight);
    EXPECT_EQ(sent.continues, received.continues);
    EXPECT_EQ(sent.first_draw, received.first_draw);
    EXPECT_EQ(sent.stop_tokens, received.stop_tokens);
    EXPECT_EQ(sent.score_prompt, received.score_prompt);
}

TEST(QueueMessage, CarriesARequestWithoutGrammar) {
    const QueueOrder order = order_from_bytes(to_bytes(QueueOrder{QueueOrder::Kind::Submit, Request()}));
    EXPECT_FALSE(order.request.grammar);
}

TEST(QueueMessage, CarriesDeltasOutcomesAndCounters) {
    QueueReport sent;
    sent.counters.requests = 3;
    sent.counters.scheduler.pages_in_use = 7;
    sent.last = sent.failing = true;
    sent.failure = ReplicaFailure{ExitCode::CannotRun, "rank 2 on node3: out of memory"};
    sent.events.reserve(2);  // the references below stay valid
    QueueEvent& delta = sent.events.emplace_back();
    delta.id = 4;
    delta.text = "In the";
    delta.tokens = {5, 6};
    delta.log_probability = {-0.5F, -1.5F};
    delta.top = {{{5, 8}, {-0.5F, -2.0F}}, {{6, 9}, {-1.5F, -3.0F}}};
    Outcome& outcome = sent.events.emplace_back().outcome.emplace();
    sent.events.back().id = outcome.id = 9;
    outcome.finish = Finish::Failed;
    outcome.error = "not finite";
    outcome.text = "beginning";
    outcome.tokens = {5};
    outcome.log_probability = {-0.25F};
    outcome.top = {{{5}, {-0.25F}}};
    outcome.prompt_log_probability = {-3.0F, -4.0F};
    outcome.prompt_top = {{{7}, {-3.0F}}, {{9}, {-1.0F}}};
    outcome.prompt_tokens = 40;
    outcome.cached_tokens = 32;
    outcome.steps = 12;
    outcome.drafted_tokens = 9;
    outcome.right_tokens = 6;
    outcome.queue_seconds = 0.5;
    outcome.prompt_seconds = 1.5;
    outcome.generation_seconds = 2.5;
    outcome.token_seconds = {2.0, 4.5};

    const QueueReport received = report_from_bytes(to_bytes(sent));
    EXPECT_EQ(received.counters, sent.counters);
    EXPECT_TRUE(received.last);
    EXPECT_TRUE(received.failing);
    ASSERT_TRUE(received.failure);
    EXPECT_EQ(received.failure->exit_code, ExitCode::CannotRun);
    EXPECT_EQ(received.failure->why, "rank 2 on node3: out of memory");
    ASSERT_EQ(received.events.size(), 2U);
    EXPECT_FALSE(received.events[0].outcome);
    EXPECT_EQ(received.events[0].id, 4);
    EXPECT_EQ(received.events[0].text, delta.text);
    EXPECT_EQ(received.events[0].tokens, delta.tokens);
    EXPECT_EQ(received.events[0].log_probability, delta.log_probability);
    ASSERT_EQ(received.events[0].top.size(), 2U);
    EXPECT_EQ(received.events[0].top[1].token, (std::vector{6, 9}));
    EXPECT_EQ(received.events[0].top[1].log_probability, (std::vector{-1.5F, -3.0F}));
    ASSERT_TRUE(received.events[1].outcome);
    const Outcome& ended = *received.events[1].outcome;
    const auto& [id, finish, error, thrown, engine_failed, text, tokens, log_probability, top,
                 prompt_log_probability, prompt_top, prompt_tokens, cached_tokens, steps, drafted_tokens,
                 right_tokens, queue_seconds, prompt_seconds, generation_seconds, token_seconds] = ended;
    EXPECT_EQ(id, 9);
    EXPECT_EQ(finish, Finish::Failed);
    EXPECT_EQ(error, "not finite");
    EXPECT_EQ(thrown, nullptr);   // stays where it was thrown
    EXPECT_FALSE(engine_failed);  // otherwise it would not have been sent
    EXPECT_EQ(text, "beginning");
    EXPECT_EQ(tokens, outcome.tokens);
    EXPECT_EQ(log_probability, outcome.log_probability);
    EXPECT_EQ(prompt_log_probability, (std::vector{-3.0F, -4.0F}));
    ASSERT_EQ(prompt_top.size(), 2U);
    EXPECT_EQ(prompt_top[1].token, (std::vector{9}));
    ASSERT_EQ(top.size(), 1U);
    EXPECT_EQ(top[0].token, (std::vector{5}));
    EXPECT_EQ(prompt_tokens, 40);
    EXPECT_EQ(cached_tokens, 32);
    EXPECT_EQ(steps, 12);
    EXPECT_EQ(drafted_tokens, 9);
    EXPECT_EQ(right_tokens, 6);
    EXPECT_EQ(queue_seconds, 0.5);
    EXPECT_EQ(prompt_seconds, 1.5);
    EXPECT_EQ(generation_seconds, 2.5);
    EXPECT_EQ(token_seconds, outcome.token_seconds);
}

TEST(QueueMessage, RejectsTruncatedMessages) {
    const std::string bytes = to_bytes(QueueOrder{QueueOrder::Kind::Submit, request_with_every_field()});
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_THROW(order_from_bytes(bytes.substr(0, size)), CommError);
    EXPECT_THROW(order_from_bytes(bytes + "x"), CommError);
}

}  // namespace
}  // namespace voltpile::llm
