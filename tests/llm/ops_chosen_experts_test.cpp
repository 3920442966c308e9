// Ops::norm_route_gated, where GPUs choose the experts of few rows in the products, against ReferenceOps.
#include <gtest/gtest.h>

#include <string>

#include "llm/ops_experts_fixture.h"

namespace voltpile::llm {
namespace {

struct ChosenCase {
    const char* name;
    int experts, used;
    bool normalized = true, sigmoid = false, biased = false;
    int groups = 1, used_groups = 1;
    int held_begin = 0, held = 0;  // 0: all
    WeightFormat format = WeightFormat::Q4_K;
};
// 129 experts: more than a product chooses from. 4 rows with 40 pairs each: more than it takes.
constexpr ChosenCase chosen_cases[] = {
    {"softmax", 128, 8},
    {"one expert", 8, 1, false},
    {"all experts", 4, 4, true},
    {"biases, not normalized", 32, 4, false, false, true, 1, 1, 0, 0, WeightFormat::MXFP4},
    {"sigmoid with groups", 64, 6, true, true, true, 8, 4, 0, 0, WeightFormat::Q6_K},
    {"a part of the experts", 24, 6, true, false, false, 1, 1, 7, 9, WeightFormat::Q8_0},
    {"129 experts", 129, 6, true, false, false, 1, 1, 0, 0, WeightFormat::F16},
    {"many for each row", 64, 20, true, false, false, 1, 1, 0, 0, WeightFormat::Q5_K},
};

class OpsChosenExpertsTest : public ExpertsFixture {
  protected:
    static constexpr std::int64_t hidden = 512, ffn = 256;

    // The logits of adjacent steps of `order` differ far more than rounding errors, so that all
    // implementations choose the same experts.
    struct Inputs {
        std::vector<float> x, norm, router, router_bias, choice_bias;
        std::vector<std::int32_t> sequence;
        Mixture mixture;
    };
    Inputs inputs(const ChosenCase& c, std::int64_t rows) {
        Inputs in;
        const auto direction = normals(hidden);
        in.x = normals(rows * hidden);
        for (std::size_t i = 0; i < in.x.size(); ++i)
            in.x[i] = 2 * direction[i % static_cast<std::size_t>(hidden)] + in.x[i] / 3;
        in.norm = normals(hidden, 0.1F, 1);
        for (int e = 0; e < c.experts; ++e) {
            const auto order = static_cast<float>(e * 37 % c.experts);
            for (const float d : direction)
                in.router.push_back(0.1F * order * d / static_cast<float>(hidden));
            in.router_bias.push_back(0.02F * order);
            in.choice_bias.push_back(0.03F * static_cast<float>(e * 11 % c.experts));
        }
        for (std::int32_t r = 0; r < rows; ++r) in.sequence.push_back(r == 2 ? -1 : r);
        in.mixture = mixture(c.format, c.experts, c.used, hidden, ffn);
        if (c.held > 0) in.mixture = part(in.mixture, c.held_begin, c.held_begin + c.held);
        return in;
    }
    struct Outcome {
        std::vector<float> sums, weights;
        std::vector<std::int32_t> experts, places, rows, begins;
    };
    static Outcome run(Side& side, const ChosenCase& c, const Inputs& in) {
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
        const Routing routing = make_routing(side, rows, settings, static_cast<int>(loaded.gate->count()));
        const RmsNorm norm{side.rows(in.x, hidden), side.up(in.norm), 1e-5F, {}, side.hidden(in.x, hidden)};
        const auto count = static_cast<std::size_t>(rows * c.used);
        const HiddenRows gated = side.hidden(std::vector<float>(count * static_cast<std::size_t>(ffn)), ffn);
        const FloatRows out =
            side.rows(std::vector<float>(static_cast<std::size_t>(rows * hidden), 7), hidden);
        side.ops->norm_route_gated(norm, settings, batch_of(side, in.sequence), routing, *loaded.gate,
                                   *loaded.up, Activation::Silu, gated);
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
            for (std::size_t i = 0; i < all[0].weights.size(); ++i)
                EXPECT_NEAR(all[0].experts[i] < 0 ? all[1].weights[i] : all[0].weights[i], all[1].weights[i],
                            1e-4);
        }
    }
}

}  // namespace
}  // namespace voltpile::llm
