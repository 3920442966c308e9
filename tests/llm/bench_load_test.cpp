// The requests that bench llm generates, and the statistics of its times.
#include <gtest/gtest.h>

#include <cmath>

#include "llm/bench/load_run.h"

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

}  // namespace
}  // namespace voltpile::llm
