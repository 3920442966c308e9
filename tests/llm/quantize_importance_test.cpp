// The importance of columns, computed by hand for the first matrices of a model, whose inputs need no
// attention.
#include <gtest/gtest.h>

#include <cmath>

#include "llm/decoder_fixture.h"
#include "llm/job_error_text.h"
#include "llm/ops/dequantize.h"
#include "llm/quantize/calibrate.h"

namespace voltpile::llm {
namespace {

std::vector<double> numbers(const ModelFiles& model, const std::string& name, std::size_t row = 0) {
    const ModelTensor& tensor = model.tensor(name);
    std::vector<std::byte> stored(row_bytes(tensor.format, tensor.columns));
    model.read(tensor, {row, row + 1, 0, tensor.columns}, stored.data());
    std::vector<float> values(tensor.columns);
    dequantize_row(tensor.format, stored.data(), static_cast<std::int64_t>(values.size()), values.data());
    return {values.begin(), values.end()};
}

TEST(Importance, IsTheMeanSquareOfTheNormalizedEmbedding) {
    const ModelFiles model(golden_folder("llama3"));
    const Golden golden = load_golden("llama3");
    const std::vector<double> norm = numbers(model, "blk.0.attn_norm.weight");
    std::vector<double> expected(norm.size());
    for (const std::int32_t token : golden.tokens) {
        const std::vector<double> x = numbers(model, "token_embd.weight", static_cast<std::size_t>(token));
        double squares = 0;
        for (const double each : x) squares += each * each;
        const double scale = squares / static_cast<double>(x.size()) + model.config().rms_eps;
        for (std::size_t c = 0; c < x.size(); ++c) expected[c] += std::pow(x[c] * norm[c], 2) / scale;
    }
    double all = 0;
    for (const double each : expected) all += each;
    const auto n = static_cast<double>(golden.tokens.size());
    const double mean = all / n / static_cast<double>(expected.size());

    std::int64_t done = 0;
    const ImportanceMatrix importance =
        calibrate(model, golden.tokens, -1, 2, [&](std::int64_t tokens) { done = tokens; });
    EXPECT_EQ(done, std::ssize(golden.tokens));
    for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"}) {
        const std::vector<float>& got = importance.columns.at(name);
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t c = 0; c < got.size(); ++c) {
            const double wanted = (expected[c] + mean) / (n + 1);
            EXPECT_NEAR(got[c], wanted, 1e-5 * wanted) << name;  // sums of fp32 numbers
        }
    }
    for (const char* name : {"blk.1.attn_output.weight", "blk.1.ffn_gate.weight", "blk.1.ffn_up.weight",
                             "blk.1.ffn_down.weight"})
        for (const float each : importance.columns.at(name)) EXPECT_GT(each, 0) << name;
}

TEST(Importance, OfStackedExpertsHasARowForEach) {
    const ModelFiles model(golden_folder("mixtral"));
    const Golden golden = load_golden("mixtral");
    const ImportanceMatrix importance = calibrate(model, golden.tokens, -1, 1, [](std::int64_t) {});
    const auto experts = static_cast<std::size_t>(model.config().experts.count);
    EXPECT_EQ(importance.columns.at("blk.0.ffn_up_exps.weight").size(),
              experts * static_cast<std::size_t>(model.config().hidden));
    EXPECT_EQ(importance.columns.at("blk.0.ffn_down_exps.weight").size(),
              experts * static_cast<std::size_t>(model.config().experts.ffn));
    EXPECT_EQ(importance.columns.at("blk.0.ffn_up_exps.weight"),
              importance.columns.at("blk.0.ffn_gate_exps.weight"));
}

TEST(Importance, RefusesShortTexts) {
    const std::vector<TokenId> tokens(2047);
    const std::string text = message_of([&] { check_calibration_text(tokens, "short.txt"); });
    EXPECT_EQ(text, "--calibrate: short.txt has 2,047 tokens; an importance matrix takes at least 2,048");
}

}  // namespace
}  // namespace voltpile::llm
