// Quantized rows: exact where the format can express the weights, and close to the least error that theory
// and a plain quantizer give elsewhere.
#include "llm/quantize/quantize_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "llm/ops/codebooks/iq4_values.h"
#include "llm/ops/dequantize.h"

namespace voltpile::llm {
namespace {

using enum WeightFormat;
constexpr std::int64_t kColumns = 1024;

std::vector<float> round_trip(WeightFormat format, const std::vector<float>& x,
                              const std::vector<float>& importance = {}) {
    const auto columns = static_cast<std::int64_t>(x.size());
    std::vector<std::byte> row(row_bytes(format, x.size()));
    quantize_row(format, x.data(), importance.empty() ? nullptr : importance.data(), columns, row.data());
    std::vector<float> result(x.size());
    dequantize_row(format, row.data(), columns, result.data());
    return result;
}

// sum w (x - y)^2 / sum w x^2
double relative_error(const std::vector<float>& x, const std::vector<float>& y,
                      const std::vector<float>& importance = {}) {
    double errors = 0, squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double w = importance.empty() ? 1 : importance[i], difference = x[i] - y[i];
        errors += w * difference * difference;
        squares += w * x[i] * x[i];
    }
    return errors / squares;
}

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0, 0.02f);
    std::vector<float> x(count);
    for (float& each : x) each = normal(random);
    return x;
}

struct Integers {
    WeightFormat format;
    int least;
    int most;
    double offset;  // added to the integers of a block
    double unit = 0x1p-7;
};

// Weights that are integers times a number that the largest scale of the format can be, and reach both ends
// of the range in each group of 16.
class Representable : public ::testing::TestWithParam<Integers> {};

TEST_P(Representable, ComesBackExactly) {
    const auto [format, least, most, offset, unit] = GetParam();
    std::mt19937_64 random(7);
    std::vector<float> x(kColumns);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const int q = i % 16 == 3 ? least
                      : i % 16 == 8
                          ? most
                          : least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
        x[i] = static_cast<float>((q + offset) * unit);
    }
    EXPECT_EQ(round_trip(format, x), x);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, Representable,
    ::testing::Values(Integers{F32, -1000, 1000, 0}, Integers{F16, -1000, 1000, 0},
                      Integers{BF16, -100, 100, 0}, Integers{Q8_0, -127, 127, 0}, Integers{Q4_0, -8, 7, 0},
                      Integers{Q5_0, -16, 15, 0}, Integers{Q4_1, 0, 15, -5}, Integers{Q4_1, 0, 15, 3},
                      Integers{Q5_1, 0, 31, -13}, Integers{Q5_1, 0, 31, 2},
                      Integers{Q2_K, 0, 3, 0, 15 * 0x1p-11}, Integers{Q3_K, -4, 3, 0},
                      Integers{Q4_K, 0, 15, 0, 63 * 0x1p-13}, Integers{Q5_K, 0, 31, 0, 63 * 0x1p-13},
                      Integers{Q6_K, -32, 31, 0}),
    [](const auto& each) { return std::string(name(each.param.format)) + "_" + std::to_string(each.index); });

// Levels times one scale, which the largest weight reveals.
TEST(QuantizeRow, LevelsOfIq4ComeBackExactly) {
    std::mt19937_64 random(8);
    for (const WeightFormat format : {IQ4_NL, IQ4_XS}) {
        std::vector<float> x(kColumns);
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = static_cast<float>(iq4_values[i % 32 == 5 ? 0 : random() % 16]) * 0x1p-8f;
        EXPECT_EQ(round_trip(format, x), x) << name(format);
    }
}

// J. Max, Quantizing for minimum distortion (1960), table II: the least mean square error of a uniform
// quantizer with that many levels for a normal distribution. A scale for each block does better, because it
// adapts to the block's weights.
TEST(QuantizeRow, IsBelowTheErrorOfTheBestFixedGrid) {
    const std::vector<float> x = normal_numbers(64 * kColumns, 1);
    EXPECT_LT(relative_error(x, round_trip(Q2_K, x)), 0.1188);
    EXPECT_LT(relative_error(x, round_trip(Q3_K, x)), 0.03744);
    for (const WeightFormat format : {Q4_0, Q4_1, Q4_K, IQ4_NL, IQ4_XS})
        EXPECT_LT(relative_error(x, round_trip(format, x)), 0.01154);
    for (const WeightFormat format : {Q5_0, Q5_1, Q5_K})
        EXPECT_LT(relative_error(x, round_trip(format, x)), 0.003490);
}

// The mean square of numbers that are uniform within half a step of the grid.
TEST(QuantizeRow, RoundsToTheNearestEighthBit) {
    const std::vector<float> x = normal_numbers(kColumns, 2);
    const std::vector<float> y = round_trip(Q8_0, x);
    for (std::size_t begin = 0; begin < x.size(); begin += 32) {
        float largest = 0;
        for (std::size_t i = begin; i < begin + 32; ++i) largest = std::max(largest, std::abs(x[i]));
        // half a step, and fp16's rounding of the step times 127
        const float bound = largest / 127 * (0.5f + 127 * 0x1p-11f);
        for (std::size_t i = begin; i < begin + 32; ++i) EXPECT_NEAR(x[i], y[i], bound);
    }
}

TEST(QuantizeRow, ImportanceLowersTheWeightedError) {
    const std::vector<float> x = normal_numbers(16 * kColumns, 3);
    std::mt19937_64 random(4);
    std::vector<float> importance(x.size());
    for (float& each : importance) each = std::exp(std::normal_distribution<float>(0, 1.5f)(random));
    for (const WeightFormat format : {Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, IQ4_XS})
        EXPECT_LT(relative_error(x, round_trip(format, x, importance), importance),
                  0.97 * relative_error(x, round_trip(format, x), importance))
            << name(format);
}

TEST(QuantizeRow, TakesZerosConstantsAndUnimportantColumns) {
    const std::vector<float> zeros(kColumns, 0), constants(kColumns, 0.75f), negative(kColumns, -0.75f);
    const std::vector<float> x = normal_numbers(kColumns, 5);
    for (const WeightFormat format :
         {Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, IQ4_XS}) {
        EXPECT_EQ(round_trip(format, zeros), zeros) << name(format);
        EXPECT_LT(relative_error(constants, round_trip(format, constants)), 1e-4) << name(format);
        EXPECT_LT(relative_error(negative, round_trip(format, negative)), 1e-4) << name(format);
        for (const float each : round_trip(format, x, zeros))
            EXPECT_TRUE(std::isfinite(each)) << name(format);
    }
}

TEST(QuantizeRow, TakesVerySmallAndVeryLargeWeights) {
    for (const float scale : {0x1p-12f, 0x1p20f}) {  // of deviations of 0.02: 5e-6 and 2e4
        std::vector<float> x = normal_numbers(kColumns, 6);
        for (float& each : x) each = std::clamp(each * scale, -kLargestWeight, kLargestWeight);
        for (const WeightFormat format :
             {Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, IQ4_XS})
            EXPECT_LE(relative_error(x, round_trip(format, x)), scale < 1 ? 1.0001 : 0.12) << name(format);
    }
}

TEST(QuantizeRow, NamesFormatsThatItDoesNotWrite) {
    EXPECT_FALSE(can_quantize_to(MXFP4));
    std::vector<float> x(32);
    std::vector<std::byte> out(17);
    EXPECT_THROW(quantize_row(MXFP4, x.data(), nullptr, 32, out.data()), std::invalid_argument);
}

}  // namespace
}  // namespace voltpile::llm
