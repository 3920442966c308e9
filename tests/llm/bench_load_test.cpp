// The requests that bench llm and bench serve generate, the statistics of their times, and streams of events.
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "llm/bench/completion_stream.h"
#include "llm/bench/load.h"
#include "llm/bench/load_result.h"

namespace voltpile::llm {
namespace {

TEST(Load, ArrivesAsAPoissonProcess) {
    LoadSettings settings;
    settings.requests = 20'000;
    settings.rate = 50;
    settings.prompt = {3, 7};
    settings.generate = {1, 2};
    const auto load = make_load(settings, 100);
    ASSERT_EQ(load.size(), 20'000U);
    double sum = 0, squares = 0, tokens = 0;
    for (std::size_t i = 0; i < load.size(); ++i) {
        const double gap = load[i].seconds - (i == 0 ? 0 : load[i - 1].seconds);
        sum += gap;
        squares += gap * gap;
        const Request& request = load[i].request;
        EXPECT_EQ(request.id, static_cast<std::int64_t>(i));
        EXPECT_TRUE(request.prompt.size() >= 3 && request.prompt.size() <= 7);
        EXPECT_TRUE(request.max_tokens == 1 || request.max_tokens == 2);
        EXPECT_TRUE(request.ignore_end);
        for (const std::int32_t token : request.prompt) EXPECT_TRUE(token >= 0 && token < 100);
        tokens += static_cast<double>(request.prompt.size());
    }
    // Exponential gaps with mean 1/50: the mean has a standard error of 1/50/sqrt(n), and the mean square,
    // 2/50^2, one of sqrt(20)/50^2/sqrt(n). The bounds are five standard errors.
    const double n = 20'000, mean = 1.0 / 50;
    EXPECT_NEAR(sum / n, mean, 5 * mean / std::sqrt(n));
    EXPECT_NEAR(squares / n, 2 * mean * mean, 5 * std::sqrt(20.0) * mean * mean / std::sqrt(n));
    EXPECT_NEAR(tokens / n, 5, 5 * std::sqrt(2.0) / std::sqrt(n));  // uniform over five: variance 2
    EXPECT_EQ(make_load(settings, 100).back().seconds, load.back().seconds);
    settings.seed = 2;
    EXPECT_NE(make_load(settings, 100).back().seconds, load.back().seconds);
    settings.rate = 0;
    EXPECT_EQ(make_load(settings, 100).back().seconds, 0);
}

TEST(Load, UsesDistinctPromptsInTurn) {
    LoadSettings settings;
    settings.requests = 7;
    settings.prompt = {3, 9};
    settings.generate = {1, 5};
    const auto distinct = make_load(settings, 100);
    settings.prompts = 3;
    const auto load = make_load(settings, 100);
    for (std::size_t i = 0; i < load.size(); ++i) {
        EXPECT_EQ(load[i].request.prompt, distinct[i % 3].request.prompt);
        EXPECT_EQ(load[i].request.max_tokens, distinct[i % 3].request.max_tokens);
    }
}

TEST(Load, UsesAdaptersInTurn) {
    LoadSettings settings;
    settings.requests = 5;
    settings.adapters = {"a", "b"};
    const auto load = make_load(settings, 100);
    for (std::size_t i = 0; i < load.size(); ++i) EXPECT_EQ(load[i].request.lora, i % 2 == 0 ? "a" : "b");
    settings.adapters.clear();
    EXPECT_EQ(make_load(settings, 100).front().request.lora, "");
}

TEST(Load, ContextHoldsTheLongestSequence) {
    LoadSettings settings;
    settings.prompt = {10, 40};
    settings.generate = {5, 8};
    EXPECT_EQ(settings.context(), 48);
    settings.interrupt_prompt = 47;
    EXPECT_EQ(settings.context(), 48);
    settings.interrupt_prompt = 100;
    EXPECT_EQ(settings.context(), 101);
    EXPECT_EQ(make_interruption(settings, 9).prompt.size(), 100U);
}

TEST(Load, QuantilesTakeValuesInAnyOrder) {
    std::vector<double> values;
    EXPECT_EQ(quantiles_of(values).p99, 0);
    for (int i = 101; i > 0; --i) values.push_back(i);
    EXPECT_EQ(quantiles_of(values).median, 51);
    EXPECT_EQ(quantiles_of(values).p99, 100);
}

TEST(LoadResult, SumsAndSortsRequests) {
    LoadResult result;
    result.requests = {{2, 1.0, 0, {1.5, 1.7, 2.3}, 10, 3}, {1, 0.0, 0, {0.25, 0.5}, 20, 4}};
    summarize(result);
    EXPECT_EQ(result.requests.front().id, 1);
    EXPECT_EQ(result.tokens_in, 30);
    EXPECT_EQ(result.tokens_out, 7);
    EXPECT_DOUBLE_EQ(result.first_token_s.median, (0.25 + 0.5) / 2);
    EXPECT_NEAR(result.between_tokens_s.median, 0.25, 1e-12);                   // of 0.2, 0.25 and 0.6
    EXPECT_NEAR(between_tokens(result.requests, 1.7, 2.3).median, 0.6, 1e-12);  // the last gap only
    EXPECT_NEAR(between_tokens(result.requests, 1.7 + 1e-6, 2.3 - 1e-6).median, 0.6, 1e-12);
    EXPECT_NEAR(between_tokens(result.requests, 0, 1).median, 0.25, 1e-12);
    EXPECT_EQ(between_tokens(result.requests, 2.1, 3).median, 0);
}

constexpr std::string_view a_stream =
    "data: {\"choices\":[{\"index\":0,\"text\":\"In \"}],\"usage\":null}\n\n"
    ": a comment\r\n"
    "data:{\"choices\":[{\"index\":0,\"text\":\"the\"}]}\r\n\r\n"
    "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n"
    "data: [DONE]\n\n";

TEST(CompletionStream, ReadsEventsCutAnywhere) {
    for (std::size_t cut = 0; cut <= a_stream.size(); ++cut) {
        CompletionStream stream;
        stream.push(a_stream.substr(0, cut));
        stream.push(a_stream.substr(cut));
        EXPECT_EQ(stream.text(), "In the") << cut;
        EXPECT_TRUE(stream.done());
        EXPECT_EQ(stream.error(), "");
        EXPECT_EQ(stream.prompt_tokens(), 5);
        EXPECT_EQ(stream.tokens(), 2);
    }
    CompletionStream stream;
    const std::size_t half = a_stream.find("the");
    EXPECT_TRUE(stream.push(a_stream.substr(0, half)));
    EXPECT_FALSE(stream.push(a_stream.substr(half, 1)));
    EXPECT_FALSE(stream.done());
}

TEST(CompletionStream, KeepsWhatIsWrong) {
    const auto error_of = [](std::string_view bytes) {
        CompletionStream stream;
        EXPECT_FALSE(stream.push(bytes));
        return stream.error();
    };
    EXPECT_EQ(error_of("data: {\"error\":{\"message\":\"no room\"}}\n\n"), "no room");
    EXPECT_EQ(error_of("data: {\"choices\n"), "an event is not part of a completion: {\"choices");
    EXPECT_EQ(error_of("data: 7\n"), "an event is not part of a completion: 7");
    EXPECT_EQ(error_of("data: {\"choices\":[7]}\n"), "");
    EXPECT_EQ(message_of_error("{\"error\":{\"message\":\"no\"}}"), "no");
    EXPECT_EQ(message_of_error("<html>"), "<html>");
    EXPECT_EQ(message_of_error(""), "an empty answer");
}

}  // namespace
}  // namespace voltpile::llm
