// Answers of the API, built from what an engine says: whole, and as events.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "llm/model/model_files.h"
#include "llm/serve/answer_format.h"
#include "llm/serve/event_text.h"
#include "llm/serve/serve_metrics.h"
#include "llm/tokenizer/model_tokenizer.h"

namespace voltpile::llm::serve_answers_test {
namespace {

using nlohmann::json;

const Tokenizer& tiny_tokenizer() {
    static const Tokenizer tokenizer =
        load_tokenizer(ModelFiles(VOLTPILE_SOURCE_DIR "/data/tiny_model/tiny-q8_0.gguf"));
    return tokenizer;
}

const AnswerHead kPlain{"id-1", "tiny", 1700000000, false, false};
const AnswerHead kFull{"id-1", "tiny", 1700000000, true, true};
const AnswerUsage kUsage{10, 4, 3};

// Parses the data of events; "[DONE]" becomes a string.
std::vector<json> events_of(const std::string& text) {
    std::vector<json> events;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find("\n\n", at);
        EXPECT_EQ(text.substr(at, 6), "data: ");
        const std::string data = text.substr(at + 6, end - at - 6);
        events.push_back(data == "[DONE]" ? json(data) : json::parse(data));
        at = end + 2;
    }
    return events;
}

Outcome outcome_of(const std::string& text) {
    Outcome outcome;
    outcome.text = text;
    outcome.tokens = tiny_tokenizer().encode(text, {.add_special = false, .continues = true});
    outcome.log_probability.assign(outcome.tokens.size(), -0.5F);
    TopTokens top;
    top.token = {outcome.tokens.front(), 5};
    top.log_probability = {-0.5F, -std::numeric_limits<float>::infinity()};
    outcome.top.assign(outcome.tokens.size(), top);
    return outcome;
}

Delta delta_of(const Outcome& outcome) {
    return {outcome.text, outcome.tokens, outcome.log_probability, outcome.top};
}

TEST(ServeAnswers, PromptsShowTheirOwnTokensAndTheBestOnes) {
    Outcome outcome;
    outcome.prompt_log_probability = {-0.5F, -3};
    outcome.prompt_top = {{{7, 8, 9}, {-0.5F, -1, -2}}, {{7, 8, 9}, {-0.5F, -1, -2}}};
    AnswerHead head = kPlain;
    head.prompt_scores = {{{3, 7, 10}}, 2};
    const auto format = completion_format(head, tiny_tokenizer(), {});
    const auto score = [](int token, double logprob, const json& rank) {
        return json{
            {"logprob", logprob}, {"rank", rank}, {"decoded_token", token_text(tiny_tokenizer(), token)}};
    };
    const json answer = json::parse(format->whole(std::span(&outcome, 1), kUsage));
    EXPECT_EQ(answer["choices"][0]["prompt_logprobs"],
              json({nullptr,
                    {{"7", score(7, -0.5, 1)}, {"8", score(8, -1, 2)}},
                    {{"10", score(10, -3, nullptr)}, {"7", score(7, -0.5, 1)}, {"8", score(8, -1, 2)}}}));
}

TEST(ServeAnswers, JsonTextEscapesWhatItMust) {
    const std::string text = "a\"b\\c\n\r\t\x01\x1f é 字";
    EXPECT_EQ(json::parse(json_text(text)).get<std::string>(), text);
}

TEST(ServeAnswers, ChatEventsAreThoseOfOpenAi) {
    const auto format = chat_format(kPlain, tiny_tokenizer());
    const Outcome outcome = outcome_of(" and \"so\"\n");
    const json begin = events_of(format->begin_event(1)).at(0);
    EXPECT_EQ(begin["object"], "chat.completion.chunk");
    EXPECT_EQ(begin["id"], "id-1");
    EXPECT_EQ(begin["created"], 1700000000);
    EXPECT_EQ(begin["model"], "tiny");
    EXPECT_EQ(begin["choices"][0]["index"], 1);
    EXPECT_EQ(begin["choices"][0]["delta"]["role"], "assistant");
    EXPECT_FALSE(begin.contains("usage"));
    const json delta = events_of(format->delta_event(0, delta_of(outcome))).at(0);
    EXPECT_EQ(delta["choices"][0]["delta"]["content"], " and \"so\"\n");
    EXPECT_TRUE(delta["choices"][0]["finish_reason"].is_null());
    EXPECT_EQ(format->delta_event(0, {}), "");
    EXPECT_EQ(events_of(format->finish_event(0, outcome)).at(0)["choices"][0]["finish_reason"], "length");
    EXPECT_EQ(format->end_events(kUsage), "data: [DONE]\n\n");
    EXPECT_EQ(events_of(format->error_event(ApiError(500, "broken"))).at(0)["error"]["message"], "broken");
}

TEST(ServeAnswers, ChatEventsCarryUsageAndLogprobsOnRequest) {
    const auto format = chat_format(kFull, tiny_tokenizer());
    const Outcome outcome = outcome_of(" king");
    const json delta = events_of(format->delta_event(0, delta_of(outcome))).at(0);
    EXPECT_TRUE(delta["usage"].is_null());
    const json& entry = delta["choices"][0]["logprobs"]["content"][0];
    EXPECT_EQ(entry["token"], " king");
    EXPECT_EQ(entry["bytes"], (std::vector<int>{32, 107, 105, 110, 103}));
    EXPECT_EQ(entry["logprob"], -0.5);
    EXPECT_EQ(entry["top_logprobs"].size(), 2U);
    EXPECT_EQ(entry["top_logprobs"][1]["logprob"], -9999.0);
    const std::vector<json> end = events_of(format->end_events(kUsage));
    ASSERT_EQ(end.size(), 2U);
    EXPECT_TRUE(end[0]["choices"].empty());
    EXPECT_EQ(end[0]["usage"]["prompt_tokens"], 10);
    EXPECT_EQ(end[0]["usage"]["completion_tokens"], 3);
    EXPECT_EQ(end[0]["usage"]["total_tokens"], 13);
    EXPECT_EQ(end[0]["usage"]["prompt_tokens_details"]["cached_tokens"], 4);
    EXPECT_EQ(end[1], "[DONE]");
}

TEST(ServeAnswers, WholeChatHasAllChoices) {
    std::vector<Outcome> outcomes{outcome_of("one"), outcome_of("two")};
    outcomes[0].finish = Finish::End;
    const json answer = json::parse(chat_format(kFull, tiny_tokenizer())->whole(outcomes, kUsage));
    EXPECT_EQ(answer["object"], "chat.completion");
    ASSERT_EQ(answer["choices"].size(), 2U);
    EXPECT_EQ(answer["choices"][0]["message"]["content"], "one");
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
    EXPECT_EQ(answer["choices"][1]["index"], 1);
    EXPECT_EQ(answer["choices"][1]["finish_reason"], "length");
    EXPECT_EQ(answer["choices"][1]["logprobs"]["content"].size(), outcomes[1].tokens.size());
    EXPECT_EQ(answer["usage"]["total_tokens"], 13);
}

TEST(ServeAnswers, CompletionsEchoAndPlaceTokens) {
    const Outcome outcome = outcome_of(" the king's son");
    const auto format = completion_format(kFull, tiny_tokenizer(), {CompletionEcho{"Behold,"}});
    EXPECT_EQ(events_of(format->begin_event(0)).at(0)["choices"][0]["text"], "Behold,");
    const json answer = json::parse(format->whole(std::vector{outcome}, kUsage));
    EXPECT_EQ(answer["object"], "text_completion");
    const json& choice = answer["choices"][0];
    EXPECT_EQ(choice["text"], "Behold, the king's son");
    const json& logprobs = choice["logprobs"];
    ASSERT_EQ(logprobs["tokens"].size(), outcome.tokens.size());
    // Each token stands in the text where its offset says.
    for (std::size_t i = 0; i < outcome.tokens.size(); ++i) {
        const auto token = logprobs["tokens"][i].get<std::string>();
        EXPECT_EQ(choice["text"].get<std::string>().substr(logprobs["text_offset"][i].get<std::size_t>(),
                                                           token.size()),
                  token);
    }
    EXPECT_EQ(logprobs["top_logprobs"][0].size(), 2U);
    // The drawn token is listed even when it is not among the most probable.
    ASSERT_EQ(logprobs["top_logprobs"][1].size(), 3U);
    EXPECT_EQ(logprobs["top_logprobs"][1][logprobs["tokens"][1].get<std::string>()], -0.5);
}

TEST(ServeAnswers, CompletionsScoreThePrompt) {
    Outcome outcome = outcome_of(" king");
    const std::vector<TokenId> prompt = tiny_tokenizer().encode("And the");
    ASSERT_EQ(prompt.size(), 3U);
    outcome.prompt_log_probability = {-3, -4};
    outcome.prompt_top.assign(2, outcome.top.front());
    for (const bool only_prompt : {false, true}) {
        const auto format =
            completion_format(kFull, tiny_tokenizer(), {CompletionEcho{"And the", prompt}}, only_prompt);
        const json answer = json::parse(format->whole(std::vector{outcome}, kUsage));
        const json& choice = answer["choices"][0];
        EXPECT_EQ(choice["text"], only_prompt ? "And the" : "And the king");
        json values{nullptr, -3.0, -4.0}, offsets{0, 0, 3}, tokens{"<|begin_of_text|>", "And", " the"};
        if (!only_prompt) {
            values.push_back(-0.5);
            offsets.push_back(7);
            tokens.push_back(" king");
        }
        EXPECT_EQ(choice["logprobs"]["token_logprobs"], values);
        EXPECT_EQ(choice["logprobs"]["text_offset"], offsets);
        EXPECT_EQ(choice["logprobs"]["tokens"], tokens);
        EXPECT_TRUE(choice["logprobs"]["top_logprobs"][0].is_null());
        EXPECT_EQ(choice["logprobs"]["top_logprobs"].size(), values.size());
        EXPECT_EQ(answer["usage"]["completion_tokens"], only_prompt ? 0 : 3);
    }
}

TEST(ServeAnswers, FinishReasonsAreThoseOfOpenAi) {
    EXPECT_EQ(finish_reason(Finish::End), "stop");
    EXPECT_EQ(finish_reason(Finish::Stopped), "stop");
    EXPECT_EQ(finish_reason(Finish::Length), "length");
    EXPECT_EQ(finish_reason(Finish::Context), "length");
}

TEST(ServeMetricsText, CountsWhatEnded) {
    ServeMetrics metrics("a \"model\"");
    Outcome outcome = outcome_of("one");
    outcome.prompt_tokens = 20;
    outcome.cached_tokens = 16;
    outcome.token_seconds = {0.03, 0.05, 0.09};
    metrics.observe(outcome);
    outcome.finish = Finish::Cancelled;
    outcome.token_seconds.clear();
    metrics.observe(outcome);
    std::vector<ReplicaState> replicas(2);
    for (ReplicaState& each : replicas) each.counters.scheduler.pages = 4;
    replicas[0].counters.scheduler.pages_in_use = 2;
    replicas[0].counters.tokens_out = 3;
    replicas[1].counters.tokens_out = 4;
    replicas[0].counters.drafted_tokens = 5;
    replicas[1].counters.right_tokens = 6;
    replicas[1].works = false;
    const http::ServerCounters server;
    const std::string text = metrics.text(replicas, server);
    const std::string label = "{model_name=\"a \\\"model\\\"\"";
    for (const std::string& line :
         {"vllm:kv_cache_usage_perc" + label + "} 0.25\n", "vllm:generation_tokens_total" + label + "} 7\n",
          "vllm:spec_decode_num_draft_tokens_total" + label + "} 5\n",
          "vllm:spec_decode_num_accepted_tokens_total" + label + "} 6\n",
          "voltpile:replica_up" + label + ",replica=\"0\"} 1\n",
          "voltpile:replica_up" + label + ",replica=\"1\"} 0\n",
          "voltpile:replica_kv_cache_usage" + label + ",replica=\"0\"} 0.5\n",
          "voltpile:replica_generation_tokens_total" + label + ",replica=\"1\"} 4\n",
          "vllm:request_success_total" + label + ",finished_reason=\"length\"} 1\n",
          "vllm:request_success_total" + label + ",finished_reason=\"abort\"} 1\n",
          "vllm:prefix_cache_hits_total" + label + "} 16\n",
          "vllm:time_to_first_token_seconds_bucket" + label + ",le=\"0.02\"} 0\n",
          "vllm:time_to_first_token_seconds_bucket" + label + ",le=\"0.04\"} 1\n",
          "vllm:time_to_first_token_seconds_count" + label + "} 1\n",
          "vllm:inter_token_latency_seconds_count" + label + "} 2\n",
          "vllm:inter_token_latency_seconds_bucket" + label + ",le=\"+Inf\"} 2\n"})
        EXPECT_NE(text.find("\n" + line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace voltpile::llm::serve_answers_test
