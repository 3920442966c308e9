#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

#include "llm/eval/evaluation.h"
#include "llm/eval/logit_scores.h"
#include "llm/eval/sample_statistics.h"

namespace voltpile::llm {
namespace {

using Logits = std::vector<float>;

// A few roundings of fp64 numbers near 1.
constexpr double rounding = 1e-14;

TEST(LogitScores, LossOfEqualLogitsIsTheLogOfTheirCount) {
    for (const float level : {0.0F, -1e4F, 1e4F})
        EXPECT_NEAR(token_loss(Logits(1000, level), 17), std::log(1000.0), rounding);
}

TEST(LogitScores, LossOfTwoLogits) {
    const Logits logits{1.5F, -0.25F};  // -log softmax = log(1 + exp(other - own))
    EXPECT_NEAR(token_loss(logits, 0), std::log1p(std::exp(-1.75)), rounding);
    EXPECT_NEAR(token_loss(logits, 1), std::log1p(std::exp(1.75)), rounding);
}

// fp32 sums would lose the small terms: 2^24 + 1 rounds to 2^24.
TEST(LogitScores, SumsInDoublePrecision) {
    Logits logits(100'001, -18.0F);
    logits[0] = 0;
    const double others = 1e5 * std::exp(-18.0);
    // 1e5 additions to a sum near 1, each with an error of at most 2^-53.
    EXPECT_NEAR(token_loss(logits, 0), std::log1p(others), 1.2e-11);
}

TEST(LogitScores, IsNotFiniteIfALogitIsNot) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        EXPECT_FALSE(std::isfinite(token_loss(Logits{0, bad, 1}, 0)));
        EXPECT_FALSE(std::isfinite(token_loss(Logits{bad, 0, 1}, 1)));
    }
}

// p = (3/4, 1/4), q = (1/2, 1/2): KL(p, q) = 3/4 log(3/2) + 1/4 log(1/2), KL(q, p) = 1/2 log(2/3) + 1/2
// log 2.
TEST(LogitScores, DivergenceOfTwoOutcomes) {
    const auto log3 = std::log(3.0F);
    const double p = 1 / (1 + std::exp(-static_cast<double>(log3)));  // of the rounded logit
    const Logits skewed{log3, 0}, even{7, 7};
    EXPECT_NEAR(compare_logits(even, skewed).divergence,
                p * std::log(2 * p) + (1 - p) * std::log(2 * (1 - p)), rounding);
    EXPECT_NEAR(compare_logits(skewed, even).divergence, -0.5 * std::log(2 * p) - 0.5 * std::log(2 * (1 - p)),
                rounding);
}

TEST(LogitScores, DivergenceFromItselfIsZero) {
    Logits logits;
    for (int i = 0; i < 5000; ++i) logits.push_back(static_cast<float>(std::sin(i) * 20));
    EXPECT_EQ(compare_logits(logits, logits).divergence, 0);
    EXPECT_TRUE(compare_logits(logits, logits).same_top);
}

TEST(LogitScores, TopTokenIsTheLowestOfEqualTokens) {
    EXPECT_TRUE(compare_logits(Logits{1, 5, 5}, Logits{0, 3, 2}).same_top);
    EXPECT_FALSE(compare_logits(Logits{1, 5, 5}, Logits{0, 2, 3}).same_top);
}

TEST(SampleStatistics, MeanAndItsError) {
    // Deviations -3, -1, 1, 3: variance 20 / 3, and 20 / 12 for the mean.
    const auto result = mean_of(std::vector<double>{2, 4, 6, 8});
    EXPECT_NEAR(result.mean, 5, rounding);
    EXPECT_NEAR(result.standard_error.value(), std::sqrt(20.0 / 12), rounding);
    EXPECT_EQ(mean_of(std::vector<double>{3}).standard_error, std::nullopt);
}

TEST(Evaluation, HasNoErrorForASingleToken) {
    TextScores scores;
    scores.losses = {std::log(8.0)};
    scores.divergences = {0.25};
    const Evaluation one = evaluate(scores);
    const std::string text = evaluation_text(one);
    EXPECT_EQ(text.find("+/-"), std::string::npos) << text;
    EXPECT_NE(text.find("perplexity     8.0000\n"), std::string::npos) << text;
    EXPECT_NE(text.find("of 1 token\n"), std::string::npos) << text;
    const nlohmann::json json = evaluation_json(one);
    for (const auto& of : {json, json["divergence"]}) EXPECT_TRUE(of.at("standard_error").is_null());
    EXPECT_TRUE(json.at("perplexity_error").is_null());
    scores.losses = {std::log(4.0), std::log(16.0)};  // deviations of log 2: error log 2
    scores.divergences = {0.25, 0.25};
    EXPECT_NEAR(evaluate(scores).perplexity_error.value(), 8 * std::log(2.0), 10 * rounding);
}

TEST(SampleStatistics, QuantilesLieBetweenNeighbors) {
    const std::vector<double> values{10, 20, 40, 80};
    EXPECT_EQ(quantile(values, 0), 10);
    EXPECT_EQ(quantile(values, 1), 80);
    EXPECT_DOUBLE_EQ(quantile(values, 0.5), 30);
    EXPECT_DOUBLE_EQ(quantile(values, 0.9), 68);  // place 2.7
    EXPECT_EQ(quantile({5}, 0.99), 5);
}

}  // namespace
}  // namespace voltpile::llm
