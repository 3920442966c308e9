#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "llm/ops/philox.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

// The draws of several rows with the same logits.
struct Drawn {
    std::vector<std::int32_t> tokens;
    std::vector<float> log_probability;
};
struct Row {
    SamplingSettings settings;
    std::int32_t step = 0;
    std::vector<std::pair<std::int32_t, std::int32_t>> history;  // token, count
    std::vector<std::uint32_t> mask = {};                        // none: all tokens may be drawn
};

// The mask that allows these tokens.
std::vector<std::uint32_t> mask_of(const std::vector<std::int32_t>& tokens, std::size_t words) {
    std::vector<std::uint32_t> mask(words, 0);
    for (const std::int32_t token : tokens) mask[static_cast<std::size_t>(token) / 32] |= 1u << (token % 32);
    return mask;
}

Drawn draw(const OpsMaker& maker, const std::vector<float>& logits, const std::vector<Row>& rows) {
    Side side(maker.make());
    std::vector<float> all, temperature, top_p, min_p, repetition, presence, frequency, bias;
    std::vector<std::int32_t> top_k, step, history_begin{0}, history_token, history_count, bias_begin{0},
        bias_token, mask_begin, mask_end;
    std::vector<std::uint64_t> seed;
    std::vector<std::uint32_t> mask;
    for (const Row& row : rows) {
        const SamplingSettings& s = row.settings;
        all.insert(all.end(), logits.begin(), logits.end());
        temperature.push_back(s.temperature);
        top_k.push_back(s.top_k);
        top_p.push_back(s.top_p);
        min_p.push_back(s.min_p);
        repetition.push_back(s.repetition_penalty);
        presence.push_back(s.presence_penalty);
        frequency.push_back(s.frequency_penalty);
        seed.push_back(s.seed);
        step.push_back(row.step);
        for (const auto& [token, count] : row.history) {
            history_token.push_back(token);
            history_count.push_back(count);
        }
        history_begin.push_back(static_cast<std::int32_t>(history_token.size()));
        for (const auto& [token, value] : s.logit_bias) {
            bias_token.push_back(token);
            bias.push_back(value);
        }
        bias_begin.push_back(static_cast<std::int32_t>(bias_token.size()));
        mask_begin.push_back(static_cast<std::int32_t>(mask.size()));
        mask.insert(mask.end(), row.mask.begin(), row.mask.end());
        mask_end.push_back(static_cast<std::int32_t>(mask.size()));
    }
    mask.push_back(0);  // arrays on the GPU are not empty
    SamplingView view{side.up(temperature),   side.up(top_k),         side.up(top_p),
                      side.up(min_p),         side.up(repetition),    side.up(presence),
                      side.up(frequency),     side.up(seed),          side.up(step),
                      side.up(history_begin), side.up(history_token), side.up(history_count),
                      side.up(bias_begin),    side.up(bias_token),    side.up(bias),
                      side.up(mask_begin),    side.up(mask_end),      side.up(mask)};
    Drawn drawn{std::vector<std::int32_t>(rows.size()), std::vector<float>(rows.size())};
    std::int32_t* tokens = side.up(drawn.tokens);
    float* log_probability = side.up(drawn.log_probability);
    side.ops->sample(side.rows(all, static_cast<std::int64_t>(logits.size())), view, tokens, log_probability);
    side.ops->download(drawn.tokens.data(), tokens, rows.size() * sizeof(std::int32_t));
    side.ops->download(drawn.log_probability.data(), log_probability, rows.size() * sizeof(float));
    return drawn;
}

class OpsSamplingTest : public OpsTest {
  protected:
    std::int32_t one(const std::vector<float>& logits, const Row& row) {
        return draw(GetParam(), logits, {row}).tokens[0];
    }
    // Returns the distinct tokens of many draws.
    std::vector<std::int32_t> seen(const std::vector<float>& logits, SamplingSettings settings) {
        std::vector<Row> rows;
        for (std::int32_t step = 0; step < (logits.size() > 1000 ? 20 : 2000); ++step)
            rows.push_back({settings, step, {}});
        auto tokens = draw(GetParam(), logits, rows).tokens;
        std::sort(tokens.begin(), tokens.end());
        tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
        return tokens;
    }
    using Tokens = std::vector<std::int32_t>;
};
VOLTPILE_FOR_ALL_OPS(OpsSamplingTest);

// The known answers are those of Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, KnownAnswers) {
    const auto words = [](PhiloxWords w) { return std::vector<std::uint32_t>(w.word, w.word + 4); };
    EXPECT_EQ(words(philox4x32_10({{0, 0, 0, 0}}, 0, 0)),
              (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    const std::uint32_t ones = 0xffffffff;
    EXPECT_EQ(words(philox4x32_10({{ones, ones, ones, ones}}, ones, ones)),
              (std::vector<std::uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(
        words(philox4x32_10({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0)),
        (std::vector<std::uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST_P(OpsSamplingTest, GreedyTakesTheLowestOfEqualTokens) {
    EXPECT_EQ(one({1, 5, -2, 5, 0}, {}), 1);
    EXPECT_EQ(one({-7}, {}), 0);
}

TEST_P(OpsSamplingTest, AppliesPenaltiesAndBias) {
    SamplingSettings s;
    s.repetition_penalty = 2;  // 4 -> 2, below 3
    EXPECT_EQ(one({4, 3, -1}, {s, 0, {{0, 1}}}), 1);
    EXPECT_EQ(one({-3, -2, -9}, {s, 0, {{1, 5}}}), 0);  // -2 -> -4
    s = {};
    s.presence_penalty = 1.5F;
    EXPECT_EQ(one({4, 3}, {s, 0, {{0, 100}}}), 1);  // 2.5: presence counts once
    s = {};
    s.frequency_penalty = 0.25F;
    EXPECT_EQ(one({4, 3}, {s, 0, {{0, 3}}}), 0);  // 3.25
    EXPECT_EQ(one({4, 3}, {s, 0, {{0, 5}}}), 1);  // 2.75
    s = {};
    s.logit_bias = {{2, 10.0F}, {0, -INFINITY}};
    EXPECT_EQ(one({9, 8, 0}, {s, 0, {}}), 2);
    s.logit_bias = {{0, -INFINITY}};
    EXPECT_EQ(one({9, 8, 0}, {s, 0, {}}), 1);
}

TEST_P(OpsSamplingTest, TopKTakesTheLowerOfEqualTokens) {
    SamplingSettings s;
    s.temperature = 1;
    s.top_k = 3;
    EXPECT_EQ(seen({1, 2, 1, 2, 1}, s), (Tokens{0, 1, 3}));
    s.top_k = 1;
    EXPECT_EQ(seen({1, 2, 1, 2, 1}, s), (Tokens{1}));
}

TEST_P(OpsSamplingTest, LimitsTokensByTopPAndMinP) {
    // Probabilities 0.1, 0.4, 0.3, 0.2.
    const std::vector<float> logits{std::log(0.1F), std::log(0.4F), std::log(0.3F), std::log(0.2F)};
    SamplingSettings s;
    s.temperature = 1;
    s.top_p = 0.65F;
    EXPECT_EQ(seen(logits, s), (Tokens{1, 2}));
    s.top_p = 0.75F;
    EXPECT_EQ(seen(logits, s), (Tokens{1, 2, 3}));
    s.top_p = 1e-6F;
    EXPECT_EQ(seen(logits, s), (Tokens{1}));
    s.top_k = 3;  // leaves 4/9, 3/9, 2/9; the first two sum to 0.78
    s.top_p = 0.75F;
    EXPECT_EQ(seen(logits, s), (Tokens{1, 2}));
    s = {};
    s.temperature = 1;
    s.min_p = 0.6F;  // times 0.4 is 0.24
    EXPECT_EQ(seen(logits, s), (Tokens{1, 2}));
    s.temperature = 0.5F;  // squares: 0.16, 0.09, 0.04, 0.01
    EXPECT_EQ(seen(logits, s), (Tokens{1}));
}

TEST_P(OpsSamplingTest, DrawsByPositionInTheRunningSum) {
    const std::vector<float> logits{std::log(1.0F), std::log(2.0F), std::log(3.0F), std::log(4.0F)};
    SamplingSettings s;
    s.temperature = 1;
    s.seed = 0x123456789abcdef0;
    std::vector<Row> rows;
    for (std::int32_t step = 0; step < 300; ++step) rows.push_back({s, step, {}});
    const auto tokens = draw(GetParam(), logits, rows).tokens;
    for (std::int32_t step = 0; step < 300; ++step) {
        const float u = uniform_of_step(s.seed, step);
        const int wanted = u < 0.1F ? 0 : u < 0.3F ? 1 : u < 0.6F ? 2 : 3;
        EXPECT_EQ(tokens[static_cast<std::size_t>(step)], wanted) << "u " << u;
    }
}

// Pearson's chi-square over 50 tokens of unequal probability and 20,000 draws. With 49 degrees of freedom it
// exceeds 85.4 with probability 0.001; the seed is fixed.
TEST_P(OpsSamplingTest, FrequenciesFollowTheTemperedSoftmax) {
    std::vector<float> logits;
    for (int i = 0; i < 50; ++i) logits.push_back(1.5F * std::sin(static_cast<float>(7 * i)));
    SamplingSettings s;
    s.temperature = 0.7F;
    s.seed = 5;
    const int draws = 20000;
    std::vector<Row> rows;
    for (std::int32_t step = 0; step < draws; ++step) rows.push_back({s, step, {}});
    std::vector<double> count(50);
    for (const std::int32_t token : draw(GetParam(), logits, rows).tokens)
        ++count[static_cast<std::size_t>(token)];
    double total = 0, chi_square = 0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit) / 0.7);
    for (std::size_t i = 0; i < 50; ++i) {
        const double expected = draws * std::exp(static_cast<double>(logits[i]) / 0.7) / total;
        chi_square += (count[i] - expected) * (count[i] - expected) / expected;
    }
    EXPECT_LT(chi_square, 85.4);
    EXPECT_GT(chi_square, 23.9);  // the lower 0.001 quantile: draws more even than chance
}

TEST_P(OpsSamplingTest, LogProbabilityUsesUnmodifiedLogits) {
    const std::vector<float> logits{1, 2, 3, 0.5F};
    SamplingSettings s;
    s.repetition_penalty = 10;
    const Drawn drawn = draw(GetParam(), logits, {{s, 0, {{2, 1}}}});
    EXPECT_EQ(drawn.tokens[0], 1);
    const double total = std::exp(1.0) + std::exp(2.0) + std::exp(3.0) + std::exp(0.5);
    EXPECT_NEAR(drawn.log_probability[0], 2 - std::log(total), 1e-6);  // fp32
}

TEST_P(OpsSamplingTest, DrawsOnlyTokensThatTheMaskAllows) {
    std::vector<float> logits(100);
    for (std::size_t i = 0; i < 100; ++i) logits[i] = static_cast<float>(i % 10);
    SamplingSettings greedy, warm;
    warm.temperature = 1;
    EXPECT_EQ(one(logits, {greedy, 0, {}, mask_of({3, 47, 40}, 4)}), 47);
    EXPECT_EQ(one(logits, {greedy, 0, {}, mask_of({58, 31, 38, 96}, 4)}), 38);  // the lower of two equal ones
    EXPECT_EQ(one(logits, {greedy, 0, {}, mask_of({5, 31}, 1)}), 5);            // nothing beyond the words
    for (int step = 0; step < 200; ++step) {
        const std::int32_t drawn = one(logits, {warm, step, {}, mask_of({3, 64, 97}, 4)});
        EXPECT_TRUE(drawn == 3 || drawn == 64 || drawn == 97) << drawn;
    }
    warm.top_k = 2;  // of the allowed ones
    for (int step = 0; step < 200; ++step)
        EXPECT_NE(one(logits, {warm, step, {}, mask_of({3, 64, 97}, 4)}), 3);
}

// Over the tokens that are left, the draw is the same as without the others.
TEST_P(OpsSamplingTest, MaskedDrawFollowsTheProbabilitiesThatAreLeft) {
    const std::vector<float> logits{std::log(1.0F), 9, std::log(2.0F), std::log(3.0F), 8, std::log(4.0F)};
    SamplingSettings s;
    s.temperature = 1;
    s.seed = 77;
    std::vector<Row> rows;
    for (std::int32_t step = 0; step < 300; ++step) rows.push_back({s, step, {}, mask_of({0, 2, 3, 5}, 1)});
    const auto tokens = draw(GetParam(), logits, rows).tokens;
    for (std::int32_t step = 0; step < 300; ++step) {
        const float u = uniform_of_step(s.seed, step);
        const int wanted = u < 0.1F ? 0 : u < 0.3F ? 2 : u < 0.6F ? 3 : 5;
        EXPECT_EQ(tokens[static_cast<std::size_t>(step)], wanted) << "u " << u;
    }
}

TEST_P(OpsSamplingTest, MaskOfOneRowLeavesOthersAlone) {
    const std::vector<float> logits{1, 5, 3, 4};
    SamplingSettings penalized;
    penalized.presence_penalty = 3;
    const auto tokens = draw(GetParam(), logits,
                             {{{}, 0, {}, {}},
                              {{}, 0, {}, mask_of({0, 2}, 1)},
                              {{}, 0, {}, {}},
                              {penalized, 0, {{3, 1}}, mask_of({0, 3}, 1)},  // 4 - 3 equals 1
                              {penalized, 0, {{3, 1}}, mask_of({2, 3}, 1)}})
                            .tokens;
    EXPECT_EQ(tokens, (std::vector<std::int32_t>{1, 2, 1, 0, 2}));
}

TEST_P(OpsSamplingTest, MaskThatAllowsNothingUsable) {
    const float infinity = std::numeric_limits<float>::infinity();
    SamplingSettings warm;
    warm.temperature = 1;
    for (const SamplingSettings& s : {SamplingSettings{}, warm}) {
        EXPECT_EQ(one({1, 2, 3}, {s, 0, {}, {0}}), -1);
        // Allowed, though impossible: the lowest of them.
        EXPECT_EQ(one({1, -infinity, 3, -infinity}, {s, 0, {}, mask_of({1, 3}, 1)}), 1);
    }
}

TEST_P(OpsSamplingTest, MaskOfALargeVocabulary) {
    const auto logits = normals(151937, 3);
    std::vector<std::int32_t> allowed;
    for (std::int32_t token = 17; token < 151937; token += 1009) allowed.push_back(token);
    const auto mask = mask_of(allowed, 151937 / 32 + 1);
    const auto best = *std::ranges::max_element(
        allowed, {}, [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; });
    EXPECT_EQ(one(logits, {{}, 0, {}, mask}), best);
    SamplingSettings warm;
    warm.temperature = 2;
    warm.top_p = 0.99F;
    std::vector<Row> rows;
    for (std::int32_t step = 0; step < 20; ++step) rows.push_back({warm, step, {}, mask});
    for (const std::int32_t token : draw(GetParam(), logits, rows).tokens) EXPECT_EQ(token % 1009, 17);
}

TEST_P(OpsSamplingTest, UnusableLogitsGiveNoToken) {
    const float nan = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();
    SamplingSettings warm;
    warm.temperature = 1;
    for (const SamplingSettings& s : {SamplingSettings{}, warm}) {
        EXPECT_EQ(one({1, nan, 2}, {s, 0, {}}), -1);
        EXPECT_EQ(one({1, infinity, 2}, {s, 0, {}}), -1);
        EXPECT_EQ(one({-infinity, -infinity}, {s, 0, {}}), -1);
        EXPECT_EQ(one({-infinity, 3, -infinity}, {s, 0, {}}), 1);
    }
}

TEST_P(OpsSamplingTest, AgreesWithTheReferenceOnALargeVocabulary) {
    auto logits = normals(151937, 3);
    SamplingSettings s;
    s.temperature = 0.8F;
    s.top_k = 40;
    auto sorted = logits;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (const std::int32_t token : seen(logits, s))
        EXPECT_GE(logits[static_cast<std::size_t>(token)], sorted[39]);
    s.top_k = 0;
    s.top_p = 0.9F;
    std::vector<Row> rows;
    for (std::int32_t step = 0; step < 50; ++step) rows.push_back({s, step, {}});
    const auto reference =
        draw({"reference", [](bool) { return std::make_unique<ReferenceOps>(); }}, logits, rows).tokens;
    const auto tested = draw(GetParam(), logits, rows).tokens;
    int same = 0;
    for (std::size_t i = 0; i < 50; ++i) same += tested[i] == reference[i];
    EXPECT_GE(same, 49);  // one draw may be within rounding error of a boundary
}

// Compares with sorting and with sums in fp64: many equal logits, some of them -infinity, and rows smaller
// and larger than the parts that a GPU divides a row into.
TEST_P(OpsSamplingTest, TopTokensEqualASortedRow) {
    struct Case {
        int vocabulary, n;
        float step;  // logits are multiples of it
    };
    for (const Case& c : {Case{1, 1, 1}, {5, 5, 1}, {31, 20, 2}, {1000, 20, 0.5F}, {151937, 7, 1e-3F}}) {
        auto logits = normals(3 * c.vocabulary, 3);
        for (float& logit : logits) logit = std::round(logit / c.step) * c.step;
        if (c.vocabulary > 5) logits[2] = logits[7] = -std::numeric_limits<float>::infinity();
        if (c.vocabulary == 31)
            std::fill(logits.begin() + 4, logits.begin() + 31, -std::numeric_limits<float>::infinity());
        const auto width = static_cast<std::size_t>(c.vocabulary), n = static_cast<std::size_t>(c.n);
        Side side(GetParam().make());
        std::int32_t* const tokens = side.up(std::vector<std::int32_t>(3 * n));
        float* const log_probabilities = side.up(std::vector<float>(3 * n));
        side.ops->top_log_probabilities(side.rows(logits, c.vocabulary), c.n, tokens, log_probabilities);
        std::vector<std::int32_t> got(3 * n);
        std::vector<float> got_log(3 * n);
        side.ops->download(got.data(), tokens, got.size() * sizeof(std::int32_t));
        side.ops->download(got_log.data(), log_probabilities, got_log.size() * sizeof(float));
        for (std::size_t row = 0; row < 3; ++row) {
            const float* const of_row = logits.data() + row * width;
            std::vector<std::int32_t> order(width);
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return of_row[a] > of_row[b]; });
            double total = 0;
            for (std::size_t i = 0; i < width; ++i) total += std::exp(static_cast<double>(of_row[i]));
            for (std::size_t k = 0; k < n; ++k) {
                EXPECT_EQ(got[row * n + k], order[k]) << c.vocabulary << ", row " << row << ", place " << k;
                const double wanted = static_cast<double>(of_row[order[k]]) - std::log(total);
                if (std::isinf(wanted))
                    EXPECT_EQ(got_log[row * n + k], -std::numeric_limits<float>::infinity());
                else
                    EXPECT_NEAR(got_log[row * n + k], wanted, 1e-5);  // fp32 rounding of numbers up to 20
            }
        }
    }
}

TEST_P(OpsSamplingTest, UnusableLogitsHaveNoTopTokens) {
    Side side(GetParam().make());
    std::int32_t* const tokens = side.up(std::vector<std::int32_t>(4));
    float* const log_probabilities = side.up(std::vector<float>(4));
    side.ops->top_log_probabilities(side.rows({1, std::numeric_limits<float>::quiet_NaN(), 2, 1, 3, 2}, 3), 2,
                                    tokens, log_probabilities);
    std::vector<std::int32_t> got(4);
    side.ops->download(got.data(), tokens, got.size() * sizeof(std::int32_t));
    EXPECT_EQ(got, (std::vector<std::int32_t>{-1, -1, 1, 2}));
}

}  // namespace
}  // namespace voltpile::llm
