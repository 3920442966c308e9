// Ops::norm_route_gated, where GPUs choose the experts of few rows in the products, against ReferenceOps.
#include <gtest/gtest.h>

#include <string>

#if VOLTPILE_CUDA
#include "llm/ops/cuda/experts.h"
#endif
#include "llm/ops_experts_fixture.h"

namespace voltpile::llm {
namespace {

struct ChosenCase {
    const char* name;
    int experts, used;
    WeightFormat format = WeightFormat::Q4_K;
    bool normalized = true, sigmoid = false, biased = false, adds = false;
    int groups = 1, used_groups = 1;
    int held_begin = 0, held = 0;  // 0: all
    std::int64_t hidden = 512;
};
// 129 experts: more than a product chooses from. 20 of 64 experts: 4 rows use them too often. 4,096 numbers:
// 4 rows do not fit in the shared memory of a product, and another kernel turns them into fixed point.
constexpr ChosenCase chosen_cases[] = {
    {.name = "softmax", .experts = 128, .used = 8},
    {.name = "one expert", .experts = 8, .used = 1, .normalized = false},
    {.name = "all experts", .experts = 4, .used = 4, .format = WeightFormat::F16, .adds = true},
    {.name = "biases, not normalized",
     .experts = 32,
     .used = 4,
     .format = WeightFormat::MXFP4,
     .normalized = false,
     .biased = true},
    {.name = "sigmoid with groups",
     .experts = 64,
     .used = 6,
     .format = WeightFormat::Q6_K,
     .sigmoid = true,
     .groups = 8,
     .used_groups = 4},
    {.name = "a part of the experts",
     .experts = 24,
     .used = 6,
     .format = WeightFormat::Q8_0,
     .held_begin = 7,
     .held = 9},
    {.name = "129 experts", .experts = 129, .used = 6, .format = WeightFormat::F16},
    {.name = "many for each row", .experts = 64, .used = 20, .format = WeightFormat::Q5_K},
    {.name = "wide rows", .experts = 16, .used = 3, .hidden = 4096},
};

class OpsChosenExpertsTest : public ExpertsFixture {
  protected:
    static constexpr std::int64_t ffn = 256;

    // Logits go from 0 to about 1, in steps far above rounding errors, so that all implementations choose the
    // same experts.
    struct Inputs {
        std::vector<float> x, norm, router, router_bias, choice_bias;
        std::vector<std::int32_t> sequence;
        Mixture mixture;
    };
    Inputs inputs(const ChosenCase& c, std::int64_t rows) {
        Inputs in;
        const std::int64_t hidden = c.hidden;
        const auto direction = normals(hidden);
        in.x = normals(rows * hidden);
        for (std::size_t i = 0; i < in.x.size(); ++i)
            in.x[i] = 2 * direction[i % static_cast<std::size_t>(hidden)] + in.x[i] / 3;
        in.norm = normals(hidden, 0.1F, 1);
        for (int e = 0; e < c.experts; ++e) {
            const float order = static_cast<float>(e * 37 % c.experts) / static_cast<float>(c.experts);
            for (const float d : direction) in.router.push_back(order * d / static_cast<float>(hidden));
            in.router_bias.push_back(0.3F * order);
            in.choice_bias.push_back(static_cast<float>(e * 11 % c.experts));
        }
        for (std::int32_t r = 0; r < rows; ++r) in.sequence.push_back(r == 2 ? -1 : r);
        in.mixture = mixture(c.format, c.experts, c.used, hidden, ffn);
        if (c.biased) {
            in.mixture.gate_bias = normals(c.experts * ffn);
            in.mixture.up_bias = normals(c.experts * ffn);
            in.mixture.down_bias = normals(c.experts * hidden);
        }
        if (c.held > 0) in.mixture = part(in.mixture, c.held_begin, c.held_begin + c.held);
        return in;
    }
    struct Outcome {
        std::vector<float> sums, weights;
        std::vector<std::int32_t> experts, places, rows, begins;
    };
    // Whether the product chooses, on GPUs that can.
    static bool chosen_in_product([[maybe_unused]] const Side& side, [[maybe_unused]] const ChosenCase& c,
                                  [[maybe_unused]] std::int64_t rows) {
#if VOLTPILE_CUDA
        return side.ops->hidden_element() == Element::F16 && !side.ops->batch_invariant() &&
               chooses_in_product(c.experts) && rows <= 4 && rows * c.used <= c.experts;
#else
        return false;
#endif
    }
    Outcome run(Side& side, const ChosenCase& c, const Inputs& in) {
        const std::int64_t hidden = c.hidden;
        Loaded loaded = load(side, in.mixture, false);
        RouterSettings& settings = loaded.settings;
        settings.weight = side.up(in.router);
        settings.normalized = c.normalized;
        settings.sigmoid = c.sigmoid;
        settings.groups = c.groups;
        settings.used_groups = c.used_groups;
        settings.bias = c.biased ? side.up(in.router_bias) : nullptr;
        settings.choice_bias = c.sigmoid ? side.up(in.choice_bias) : nullptr;
        settings.scale = 1.5F;
        const auto rows = std::ssize(in.sequence);
        Routing routing = make_routing(side, rows, settings, static_cast<int>(loaded.gate->count()));
        routing.adds = c.adds;
        const RmsNorm norm{side.rows(in.x, hidden), side.up(in.norm), 1e-5F, {}, side.hidden(in.x, hidden)};
        const auto count = static_cast<std::size_t>(rows * c.used);
        const HiddenRows gated = side.hidden(std::vector<float>(count * static_cast<std::size_t>(ffn)), ffn);
        const FloatRows out =
            side.rows(std::vector<float>(static_cast<std::size_t>(rows * hidden), 7), hidden);
        const BatchView batch = batch_of(side, in.sequence);
        const bool done = side.ops->norm_route_gated(norm, settings, batch, routing, *loaded.gate, *loaded.up,
                                                     Activation::Silu, gated);
        EXPECT_EQ(done, chosen_in_product(side, c, rows));
        if (!done) {
            side.ops->norm_route(norm, settings, batch, routing, nullptr);
            side.ops->gated_experts(norm.out, *loaded.gate, *loaded.up, Activation::Silu, routing, nullptr,
                                    gated);
        }
        side.ops->sum_experts(gated, *loaded.down, routing, out);
        Outcome found{side.down(out),
                      download(side, routing.weight, count),
                      download(side, routing.expert, count),
                      download(side, routing.place, count),
                      {},
                      download(side, routing.begin, loaded.gate->count() + 1)};
        found.rows = download(side, routing.row, static_cast<std::size_t>(found.begins.back()));
        return found;
    }
};
VOLTPILE_FOR_ALL_OPS(OpsChosenExpertsTest);

TEST_P(OpsChosenExpertsTest, ChoosesAndMultiplies) {
    for (const ChosenCase& c : chosen_cases) {
        for (const std::int64_t rows : {1, 2, 4, 7}) {
            SCOPED_TRACE(std::string(c.name) + ", " + std::to_string(rows) + " rows");
            const Inputs in = inputs(c, rows);
            std::vector<Outcome> all;
            expect_same(
                [&](Side& side) {
                    all.push_back(run(side, c, in));
                    return all.back().sums;
                },
                4 * product_bound(c.format));
            ASSERT_EQ(all.size(), 2);
            EXPECT_EQ(all[0].experts, all[1].experts);
            EXPECT_EQ(all[0].places, all[1].places);
            EXPECT_EQ(all[0].rows, all[1].rows);
            EXPECT_EQ(all[0].begins, all[1].begins);
            for (std::size_t i = 0; i < all[0].weights.size(); ++i) {
                if (all[0].experts[i] < 0) continue;
                EXPECT_NEAR(all[0].weights[i], all[1].weights[i], 1e-4);
            }
        }
    }
}

}  // namespace
}  // namespace voltpile::llm
