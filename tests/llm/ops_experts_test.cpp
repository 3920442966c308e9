// Mixtures of experts: the router's rules on numbers checked by hand, and products of all formats against
// ReferenceOps.
#include <cmath>
#include <limits>

#include "llm/ops_experts_fixture.h"

namespace voltpile::llm {
namespace {

class OpsExpertsTest : public ExpertsFixture {};
VOLTPILE_FOR_ALL_OPS(OpsExpertsTest);

TEST_P(OpsExpertsTest, RouterChoosesLargestLogitsAndLowerOfEqualExperts) {
    Side side(GetParam().make());
    constexpr int experts = 32, used = 3;
    std::vector<float> x(3 * experts, -8);
    x[4] = x[9] = x[30] = x[31] = 1;  // row 0: four equal ones
    x[experts + 20] = 2;              // row 1: in descending order
    x[experts + 7] = 0.5F;
    x[experts + 1] = 1;
    const RouterSettings settings = unit_router(side, experts, used, true);
    const Routing routing = make_routing(side, 3, settings);
    side.ops->route(side.hidden(x, experts), settings, batch_of(side, {0, 1, 2}), routing, nullptr);
    EXPECT_EQ(download(side, routing.expert, 9), (std::vector<std::int32_t>{4, 9, 30, 20, 1, 7, 0, 1, 2}));
    const auto weight = download(side, routing.weight, 9);
    const float sum = std::exp(2.0F) + std::exp(1.0F) + std::exp(0.5F);
    const float wanted[] = {
        1 / 3.0F, 1 / 3.0F, 1 / 3.0F, std::exp(2.0F) / sum, std::exp(1.0F) / sum, std::exp(0.5F) / sum,
        1 / 3.0F, 1 / 3.0F, 1 / 3.0F};
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(weight[i], wanted[i], 1e-6F) << i;
}

// Scores are 1 / (1 + exp(-x)); the bias changes the choice but not the weights.
TEST_P(OpsExpertsTest, SigmoidRouterChoosesByBiasedScores) {
    Side side(GetParam().make());
    constexpr int experts = 40, used = 2;
    std::vector<float> x(2 * experts, -9);
    x[3] = 1, x[7] = 0, x[33] = -1;                                      // scores 0.731, 0.5, 0.269
    x[experts + 3] = 1, x[experts + 7] = 0.5F, x[experts + 33] = 0.75F;  // 0.731, 0.622, 0.679
    std::vector<float> bias(experts, 0);
    bias[33] = 0.4F;
    RouterSettings settings = unit_router(side, experts, used, true);
    settings.sigmoid = true;
    settings.choice_bias = side.up(bias);
    settings.scale = 2.5F;
    const auto score = [](float logit) { return 1 / (1 + std::exp(-logit)); };
    for (const bool normalized : {true, false}) {
        settings.normalized = normalized;
        const Routing routing = make_routing(side, 2, settings);
        side.ops->route(side.hidden(x, experts), settings, batch_of(side, {0, 1}), routing, nullptr);
        EXPECT_EQ(download(side, routing.expert, 4), (std::vector<std::int32_t>{3, 33, 33, 3}));
        const float wanted[] = {score(1), score(-1), score(0.75F), score(1)};
        const auto weight = download(side, routing.weight, 4);
        for (std::size_t i = 0; i < 4; ++i) {
            const float sum = normalized ? wanted[i / 2 * 2] + wanted[i / 2 * 2 + 1] : 1;
            EXPECT_NEAR(weight[i], 2.5F * wanted[i] / sum, 1e-6F) << i;
        }
    }
}

// A group of a sigmoid router is as good as the sum of its two best experts, otherwise as its best one.
TEST_P(OpsExpertsTest, RouterChoosesGroupsFirst) {
    for (const bool sigmoid : {false, true}) {
        Side side(GetParam().make());
        constexpr int experts = 48, used = 3;  // groups of 12: 0, 12, 24, 36
        std::vector<float> x(2 * experts, -9);
        x[2] = 2, x[14] = 1, x[15] = 0.875F, x[25] = 1.5F, x[40] = 1.125F, x[41] = 1.0625F, x[42] = 1;
        x[experts + 47] = 1, x[experts + 46] = 1, x[experts + 0] = 1, x[experts + 1] = 1;  // equal groups
        x[experts + 24] = 1, x[experts + 35] = 1;
        RouterSettings settings = unit_router(side, experts, used, false);
        settings.sigmoid = sigmoid;
        settings.groups = 4;
        settings.used_groups = 2;
        const Routing routing = make_routing(side, 2, settings);
        side.ops->route(side.hidden(x, experts), settings, batch_of(side, {0, 1}), routing, nullptr);
        // By softmax groups 0 and 2, which hold 2 and 25; by sigmoid groups 3 and 1.
        const std::vector<std::int32_t> wanted = sigmoid ? std::vector<std::int32_t>{40, 41, 14, 0, 1, 24}
                                                         : std::vector<std::int32_t>{2, 25, 0, 0, 1, 24};
        EXPECT_EQ(download(side, routing.expert, 6), wanted) << sigmoid;
        if (sigmoid) continue;
        double all = 0;
        for (int e = 0; e < experts; ++e)
            all += std::exp(static_cast<double>(x[static_cast<std::size_t>(e)]));
        EXPECT_NEAR(download(side, routing.weight, 2)[1], std::exp(1.5) / all, 1e-6);
    }
}

// Without a gate the shared expert counts fully.
TEST_P(OpsExpertsTest, SharedExpertWithoutGateHasWeightOne) {
    Side side(GetParam().make());
    for (const int rows : {1, 6}) {
        const RouterSettings settings = unit_router(side, 32, 2, true);
        const std::size_t bytes = routing_bytes(rows, 32, 2);
        const Routing routing =
            routing_in(side.up(std::vector<float>(bytes / sizeof(float))), rows, 32, 2, true);
        side.ops->route(side.hidden(normals(rows * 32), 32), settings,
                        batch_of(side, std::vector<std::int32_t>(static_cast<std::size_t>(rows), 0)), routing,
                        nullptr);
        EXPECT_EQ(download(side, routing.shared, static_cast<std::size_t>(rows)),
                  std::vector<float>(static_cast<std::size_t>(rows), 1));
    }
}

TEST_P(OpsExpertsTest, RouterSortsPairsByExpertAndSkipsEmptyRows) {
    Side side(GetParam().make());
    constexpr int experts = 32, used = 2;
    std::vector<float> x(4 * experts, 0);
    x[5] = 2, x[3] = 1;                              // row 0: 5, 3
    x[experts + 1] = 9;                              // row 1 is empty
    x[2 * experts + 3] = 2, x[2 * experts + 5] = 1;  // row 2: 3, 5
    x[3 * experts + 0] = 2, x[3 * experts + 3] = 1;  // row 3: 0, 3
    const RouterSettings settings = unit_router(side, experts, used, false);
    const Routing routing = make_routing(side, 4, settings);
    side.ops->route(side.hidden(x, experts), settings, batch_of(side, {0, -1, 1, 2}), routing, nullptr);
    EXPECT_EQ(download(side, routing.expert, 8), (std::vector<std::int32_t>{5, 3, -1, -1, 3, 5, 0, 3}));
    std::vector<std::int32_t> begin(experts + 1, 6);
    begin[0] = 0, begin[1] = begin[2] = begin[3] = 1, begin[4] = begin[5] = 4;
    EXPECT_EQ(download(side, routing.begin, experts + 1), begin);
    EXPECT_EQ(download(side, routing.row, 6), (std::vector<std::int32_t>{3, 0, 2, 3, 0, 2}));
    EXPECT_EQ(download(side, routing.place, 8), (std::vector<std::int32_t>{4, 1, -1, -1, 2, 5, 0, 3}));
    // Softmax over all 32 experts: two large logits and 30 zeros.
    const float all = std::exp(2.0F) + std::exp(1.0F) + 30;
    const auto weight = download(side, routing.weight, 8);
    EXPECT_NEAR(weight[0], std::exp(2.0F) / all, 1e-6F);
    EXPECT_NEAR(weight[1], std::exp(1.0F) / all, 1e-6F);
}

// Any numbers of rows and experts, some of which another rank has: the pairs of experts held here, in the
// order of experts and then of rows, are what Routing::row and Routing::place say.
TEST_P(OpsExpertsTest, RouterSortsPairsOfAnyNumberOfRows) {
    Side side(GetParam().make());
    constexpr int used = 6;
    for (const int experts : {32, 96, 160, 544, 1024}) {
        RouterSettings settings = unit_router(side, experts, used, true);
        settings.held_begin = experts / 4;
        const int held = experts / 2;
        for (const int rows : {1, 4, 5, 8, 9, 31, 32, 33, 63, 64, 65, 130}) {
            SCOPED_TRACE(std::to_string(experts) + " experts, " + std::to_string(rows) + " rows");
            const Routing routing = make_routing(side, rows, settings, held);
            std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
            if (rows > 4) sequence[2] = sequence.back() = -1;
            side.ops->route(side.hidden(normals(rows * experts), experts), settings, batch_of(side, sequence),
                            routing, nullptr);
            const auto expert = download(side, routing.expert, static_cast<std::size_t>(rows * used));
            std::vector<std::int32_t> begin, row, place(expert.size(), -1);
            for (int e = 0; e < held; ++e) {
                begin.push_back(static_cast<std::int32_t>(row.size()));
                for (std::size_t i = 0; i < expert.size(); ++i) {
                    if (expert[i] != e) continue;
                    place[i] = static_cast<std::int32_t>(row.size());
                    row.push_back(static_cast<std::int32_t>(i / used));
                }
            }
            begin.push_back(static_cast<std::int32_t>(row.size()));
            EXPECT_GT(row.size(), 0U);
            EXPECT_EQ(download(side, routing.begin, begin.size()), begin);
            EXPECT_EQ(download(side, routing.row, row.size()), row);
            EXPECT_EQ(download(side, routing.place, place.size()), place);
        }
    }
}

TEST_P(OpsExpertsTest, MultipliesEveryFormatAndManyRows) {
    for (const WeightFormatInfo& entry : kWeightFormats) {
        const Mixture m = mixture(entry.format, 5, 2, 256, 256);
        for (const std::int64_t rows : {1, 2, 5, 40}) {
            for (const bool shared : {false, true}) {
                SCOPED_TRACE(std::string(entry.name) + ", " + std::to_string(rows) + " rows");
                const auto x = normals(rows * m.hidden);
                const std::vector<float> before = shared ? normals(rows * m.hidden) : std::vector<float>();
                std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
                if (rows == 5) sequence[3] = sequence[4] = -1;
                expect_same([&](Side& side) { return run(side, m, x, sequence, before); },
                            4 * product_bound(entry.format));
            }
        }
    }
}

// Biases of router and experts, and a gate that is clamped on both sides, for few rows and for many.
TEST_P(OpsExpertsTest, AddsBiasesAndClampsGates) {
    for (const WeightFormat format : {WeightFormat::MXFP4, WeightFormat::F16}) {
        Mixture m = mixture(format, 32, 4, 160, 96);
        m.activation = Activation::ClampedSwiglu;
        m.router_bias = normals(m.experts, 2);
        m.gate_bias = normals(m.experts * m.ffn, 4, 2);
        m.up_bias = normals(m.experts * m.ffn, 4);
        m.down_bias = normals(m.experts * m.hidden, 2);
        for (const std::int64_t rows : {1, 2, 7, 9, 33, 300}) {
            SCOPED_TRACE(std::string(name(format)) + ", " + std::to_string(rows) + " rows");
            const auto x = normals(rows * m.hidden);
            std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
            if (rows > 2) sequence[1] = sequence.back() = -1;
            expect_same([&](Side& side) { return run(side, m, x, sequence, {}); }, 4 * product_bound(format));
        }
    }
}

// Ranks that have some experts each: their outputs add up to those of all experts. The first of few rows may
// have no expert of a rank.
TEST_P(OpsExpertsTest, RanksWithWholeExpertsAddUp) {
    Mixture m = mixture(WeightFormat::MXFP4, 24, 4, 160, 96);
    m.router_bias = normals(m.experts, 2);
    m.gate_bias = normals(m.experts * m.ffn, 4, 2);
    m.up_bias = normals(m.experts * m.ffn, 4);
    m.down_bias = normals(m.experts * m.hidden, 2);
    for (const std::int64_t rows : {1, 2, 4, 7, 33, 300}) {
        SCOPED_TRACE(std::to_string(rows) + " rows");
        Side tested(GetParam().make()), reference(std::make_unique<ReferenceOps>());
        const auto x = normals(rows * m.hidden), shared = normals(rows * m.hidden);
        std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
        if (rows > 2) sequence[1] = sequence.back() = -1;
        const auto wanted = run(reference, m, x, sequence, shared);
        std::vector<float> sum(wanted.size());
        for (const auto& [begin, end] : {std::pair{0, 1}, {1, 11}, {11, 24}}) {
            const auto of_rank =
                run(tested, part(m, begin, end), x, sequence, begin == 0 ? shared : std::vector<float>());
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += of_rank[i];
        }
        const double fp32_bound = 4 * product_bound(m.format);
        EXPECT_LT(nmse(sum, wanted), tested.ops->hidden_element() == Element::F32 ? fp32_bound : 1e-6);
    }
}

// Without blocks, sizes may be odd; one expert gets all rows.
TEST_P(OpsExpertsTest, MultipliesOddSizes) {
    Mixture m = mixture(WeightFormat::F16, 3, 1, 96, 70);
    m.router.assign(m.router.size(), 0);
    const std::int64_t rows = 70;
    const auto x = normals(rows * m.hidden);
    const std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
    expect_same([&](Side& side) { return run(side, m, x, sequence, {}); });
}

// As many experts as Qwen 3 has, with both rules for weights: GPUs multiply few rows one by one, and more of
// them in tiles with the rows of each expert. Columns that are no multiple of a tile's steps.
TEST_P(OpsExpertsTest, MultipliesManyExperts) {
    for (const WeightFormat format : {WeightFormat::F16, WeightFormat::Q8_0}) {
        Mixture m = mixture(format, 128, 8, 160, 96);
        for (const std::int64_t rows : {1, 2, 7, 8, 9, 33, 300}) {
            SCOPED_TRACE(std::to_string(rows) + " rows");
            m.normalized = rows % 2 == 0;
            const auto x = normals(rows * m.hidden);
            std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
            if (rows > 2) sequence[1] = sequence.back() = -1;
            const std::vector<float> shared = rows == 7 ? normals(rows * m.hidden) : std::vector<float>();
            expect_same([&](Side& side) { return run(side, m, x, sequence, shared); },
                        4 * product_bound(format));
        }
    }
}

// All rows choose the same experts: those have several pieces of rows, and the others none.
TEST_P(OpsExpertsTest, MultipliesManyRowsOfFewExperts) {
    Mixture m = mixture(WeightFormat::Q6_K, 40, 3, 256, 256);
    for (const int e : {3, 17, 39}) m.router[static_cast<std::size_t>(e * m.hidden)] = 1;
    for (const std::int64_t rows : {10, 45, 150}) {
        SCOPED_TRACE(std::to_string(rows) + " rows");
        auto x = normals(rows * m.hidden);
        for (std::int64_t r = 0; r < rows; ++r) x[static_cast<std::size_t>(r * m.hidden)] = 60;
        const std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
        expect_same([&](Side& side) { return run(side, m, x, sequence, {}); }, 4 * product_bound(m.format));
    }
}

// Nothing that a recording holds depends on the experts that rows choose.
TEST_P(OpsExpertsTest, ReplaysWithOtherExperts) {
    const Mixture m = mixture(WeightFormat::Q4_K, 16, 2, 256, 256);
    for (const std::int64_t rows : {2, 40}) {
        Side side(GetParam().make());
        const Loaded loaded = load(side, m, false);
        const std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0);
        const Routing routing = make_routing(side, rows, loaded.settings);
        const BatchView batch = batch_of(side, sequence);
        const HiddenRows x = side.hidden(normals(rows * m.hidden), m.hidden);
        const HiddenRows gated =
            side.hidden(std::vector<float>(static_cast<std::size_t>(rows * m.used * m.ffn)), m.ffn);
        const FloatRows out =
            side.rows(std::vector<float>(static_cast<std::size_t>(rows * m.hidden)), m.hidden);
        const auto enqueue = [&] {
            side.ops->route(x, loaded.settings, batch, routing, nullptr);
            side.ops->gated_experts(x, *loaded.gate, *loaded.up, m.activation, routing, nullptr, gated);
            side.ops->sum_experts(gated, *loaded.down, routing, out);
        };
        enqueue();
        const auto recording = side.ops->record(enqueue);
        for (int i = 0; i < 3; ++i) {
            const auto numbers = normals(rows * m.hidden);
            const HiddenRows other = side.hidden(numbers, m.hidden);
            std::vector<std::byte> bytes(numbers.size() * bytes_of(side.ops->hidden_element()));
            side.ops->download(bytes.data(), other.data, bytes.size());
            side.ops->upload(x.data, bytes.data(), bytes.size());
            recording->replay();
            EXPECT_EQ(side.down(out), run(side, m, loaded, numbers, sequence, {})) << rows << ' ' << i;
        }
    }
}

// Where a row does not depend on the number of rows, neither may it on who adds the sum over experts.
TEST_P(OpsExpertsTest, AddsWhatALaterSumWouldAdd) {
    Side side(GetParam().make());
    if (!side.ops->batch_invariant()) GTEST_SKIP() << "may round differently";
    struct Case {
        WeightFormat format;
        std::int64_t hidden;
        bool biased;
    };
    for (const Case& c : {Case{WeightFormat::F16, 333, false},
                          {WeightFormat::Q4_K, 512, false},
                          {WeightFormat::Q8_0, 64, true}}) {
        Mixture m = mixture(c.format, 16, 4, c.hidden, 256);
        if (c.biased) m.down_bias = normals(m.experts * m.hidden);
        const Loaded loaded = load(side, m, false);
        for (const std::int64_t rows : {1, 4, 9}) {
            const auto x = normals(rows * m.hidden), former = normals(rows * m.hidden);
            std::vector<std::int32_t> sequence;
            for (std::int32_t r = 0; r < rows; ++r) sequence.push_back(r == 2 ? -1 : r);
            auto expected = run(side, m, loaded, x, sequence, {});
            for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += former[i];
            EXPECT_EQ(run(side, m, loaded, x, sequence, former, true), expected) << rows << " rows";
        }
    }
}

TEST_P(OpsExpertsTest, RowsDoNotDependOnOtherRows) {
    if (GetParam().name == "gpu") GTEST_SKIP() << "only if batch-invariant";
    // Few experts, which get many rows each, and many.
    const auto check = [&](const Mixture& m) {
        const std::int64_t rows = 150;
        const auto x = normals(rows * m.hidden);
        Side side(GetParam().make());
        const Loaded loaded = load(side, m, false);
        const auto some = [&](std::int64_t begin, std::int64_t count) {
            return run(side, m, loaded,
                       {x.begin() + begin * m.hidden, x.begin() + (begin + count) * m.hidden},
                       std::vector<std::int32_t>(static_cast<std::size_t>(count), 0), {});
        };
        const auto all = some(0, rows);
        for (const std::int64_t count : {1, 2, 7, 33})
            for (const std::int64_t begin : {0, 17, 117}) {
                const auto part = some(begin, count);
                EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + begin * m.hidden))
                    << count << " rows from " << begin;
            }
    };
    for (const WeightFormat format :
         {WeightFormat::F16, WeightFormat::Q8_0, WeightFormat::Q4_K, WeightFormat::Q6_K, WeightFormat::IQ3_S,
          WeightFormat::Q5_1, WeightFormat::MXFP4, WeightFormat::NF4, WeightFormat::UINT4,
          WeightFormat::F8_E4M3}) {
        SCOPED_TRACE(name(format));
        check(mixture(format, 5, 2, 256, 256));
        check(mixture(format, 40, 4, 256, 256));
    }
}

}  // namespace
}  // namespace voltpile::llm
