// Operations that GPUs compute together with a norm before them or a sum behind them, against ReferenceOps.
#include <cmath>
#include <limits>
#include <numeric>

#include "llm/ops_experts_fixture.h"

namespace voltpile::llm {
namespace {

class OpsFusionTest : public ExpertsFixture {
  protected:
    struct Rows {
        std::vector<float> x, weight;
        std::int64_t columns;
    };
    Rows make_rows(std::int64_t rows, std::int64_t columns) {
        return {normals(rows * columns, 3), normals(columns, 0.2F, 1), columns};
    }
    static RmsNorm norm(Side& side, const Rows& rows) {
        return {side.rows(rows.x, rows.columns),
                side.up(rows.weight),
                1e-5F,
                {3, 1},
                side.hidden(std::vector<float>(rows.x.size(), 7), rows.columns)};
    }
    static HiddenRows output(Side& side, std::int64_t rows, std::int64_t columns) {
        return side.hidden(std::vector<float>(static_cast<std::size_t>(rows * columns)), columns);
    }
    void check_added_experts(WeightFormat format, std::int64_t rows) {
        const Mixture m = mixture(format, 8, 3, 256, 512);
        const auto x = normals(rows * m.hidden), former = normals(rows * m.hidden, 3);
        const auto sequence = sequences(rows);
        const auto add = [&](Side& side) {
            const Loaded loaded = load(side, m, false);
            return run(side, m, loaded, x, sequence, former, true);
        };
        expect_same(add, 4 * product_bound(format));
    }
    // Returns the normed rows, or each row's weight for every expert (0 if it does not use the expert)
    // followed by its weight for the shared expert. An empty gate means that there is no shared expert.
    static std::vector<float> routed(Side& side, const Rows& rows, const std::vector<float>& router,
                                     const std::vector<float>& gate, int experts, bool normed) {
        RouterSettings settings;
        settings.weight = side.up(router);
        settings.shared_gate = gate.empty() ? nullptr : side.up(gate);
        settings.experts = experts;
        settings.used = 6;
        const RmsNorm from = norm(side, rows);
        const auto sequence = sequences(from.out.rows);
        const Routing routing = make_routing(side, from.out.rows, settings);
        side.ops->norm_route(from, settings, batch_of(side, sequence), routing, nullptr);
        EXPECT_FALSE(side.ops->take_sentinel().tripped);
        if (normed) return side.down(from.out);
        const std::size_t pairs = sequence.size() * static_cast<std::size_t>(settings.used);
        const auto expert = download(side, routing.expert, pairs);
        const auto weight = download(side, routing.weight, pairs);
        std::vector<float> all(sequence.size() * static_cast<std::size_t>(experts));
        for (std::size_t i = 0; i < pairs; ++i)
            all[i / static_cast<std::size_t>(settings.used) * static_cast<std::size_t>(experts) +
                static_cast<std::size_t>(expert[i])] = weight[i];
        const auto more =
            gate.empty() ? std::vector<float>{} : download(side, routing.shared, sequence.size());
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    // Returns the sequence of each row: its own.
    static std::vector<std::int32_t> sequences(std::int64_t rows) {
        std::vector<std::int32_t> all(static_cast<std::size_t>(rows));
        std::iota(all.begin(), all.end(), 0);
        return all;
    }
    // Appends the normed rows, which an operation leaves behind, to its result.
    static std::vector<float> with_normed(Side& side, HiddenRows out, const RmsNorm& norm) {
        EXPECT_FALSE(side.ops->take_sentinel().tripped);
        auto all = side.down(out);
        const auto normed = side.down(norm.out);
        all.insert(all.end(), normed.begin(), normed.end());
        return all;
    }
};
VOLTPILE_FOR_ALL_OPS(OpsFusionTest);

TEST_P(OpsFusionTest, AddsProductsToTheirOutput) {
    for (const WeightFormatInfo& entry : kWeightFormats) {
        for (const std::int64_t rows : {1, 3, 8, 70, 400}) {
            for (const bool with_bias : {false, true}) {
                SCOPED_TRACE(std::string(entry.name) + ", " + std::to_string(rows) + " rows");
                const std::int64_t columns = 1280, outputs = 45;
                const auto w = weights(entry.format, outputs, columns);
                const auto x = normals(rows * columns), former = normals(rows * outputs, 30),
                           bias = normals(outputs, 30);
                expect_same(
                    [&](Side& side) {
                        const auto matrix = side.ops->load_matrix(source(entry.format, outputs, columns, w));
                        const FloatRows out = side.rows(former, outputs);
                        side.ops->add_matmul(side.hidden(x, columns), *matrix,
                                             with_bias ? side.up(bias) : nullptr, out);
                        return side.down(out);
                    },
                    product_bound(entry.format));
            }
        }
    }
}

// Matrices in three formats: some GPUs multiply by them at the same time. 5,120 columns: more than the
// threads of a block keep in registers.
TEST_P(OpsFusionTest, MultipliesNormedRows) {
    for (const WeightFormatInfo& entry : kWeightFormats) {
        for (const std::int64_t columns : {256, 1280, 5120}) {
            for (const std::int64_t rows : {1, 2, 3, 4, 5, 70}) {
                SCOPED_TRACE(std::string(entry.name) + ", " + std::to_string(rows) + " rows");
                const auto w = weights(entry.format, 37, columns),
                           other = weights(WeightFormat::Q8_0, 7, columns),
                           third = weights(WeightFormat::Q4_0, 9, columns);
                const Rows x = make_rows(rows, columns);
                expect_same(
                    [&](Side& side) {
                        const auto first = side.ops->load_matrix(source(entry.format, 37, columns, w));
                        const auto last =
                            side.ops->load_matrix(source(WeightFormat::Q8_0, 7, columns, other));
                        const auto more =
                            side.ops->load_matrix(source(WeightFormat::Q4_0, 9, columns, third));
                        const WeightMatrix* const all[] = {first.get(), last.get(), more.get()};
                        const RmsNorm from = norm(side, x);
                        const HiddenRows out = output(side, rows, 53);
                        side.ops->norm_matmul(from, all, out);
                        return with_normed(side, out, from);
                    },
                    std::max({product_bound(entry.format), product_bound(WeightFormat::Q8_0),
                              product_bound(WeightFormat::Q4_0)}));
            }
        }
    }
}

// Q, K and V as files have them, which GPUs multiply in one kernel: also behind a norm whose results a
// further matrix needs, and so many outputs that the two products share the GPU.
TEST_P(OpsFusionTest, MultipliesNormedRowsInPairsOfFormats) {
    using enum WeightFormat;
    struct Pair {
        WeightFormat first, second;
        std::int64_t outputs, second_outputs, columns;
    };
    for (const Pair& of : {Pair{Q4_K, Q6_K, 70, 37, 1280}, Pair{Q5_K, Q6_K, 70, 37, 1280},
                           Pair{Q3_K, Q5_K, 70, 37, 1280}, Pair{Q4_K, Q6_K, 9000, 3001, 256},
                           Pair{Q4_K, Q6_K, 4, 100000, 256}, Pair{Q5_K, Q6_K, 33, 12, 8192}}) {
        const auto first = weights(of.first, of.outputs, of.columns),
                   second = weights(of.second, of.second_outputs, of.columns),
                   third = weights(Q8_0, 7, of.columns);
        for (const std::int64_t rows : {1, 2, 3, 4, 5}) {
            for (const bool three : {false, true}) {
                SCOPED_TRACE(std::string(name(of.first)) + ", " + std::to_string(of.outputs) + " outputs, " +
                             std::to_string(rows) + " rows");
                const Rows x = make_rows(rows, of.columns);
                expect_same(
                    [&](Side& side) {
                        const auto a = side.ops->load_matrix(source(of.first, of.outputs, of.columns, first));
                        const auto b =
                            side.ops->load_matrix(source(of.second, of.second_outputs, of.columns, second));
                        const auto c = side.ops->load_matrix(source(Q8_0, 7, of.columns, third));
                        const WeightMatrix* const all[] = {a.get(), b.get(), c.get()};
                        const RmsNorm from = norm(side, x);
                        const HiddenRows out =
                            output(side, rows, of.outputs + of.second_outputs + (three ? 7 : 0));
                        side.ops->norm_matmul(from, std::span(all).first(three ? 3 : 2), out);
                        return with_normed(side, out, from);
                    },
                    std::max({product_bound(of.first), product_bound(of.second), product_bound(Q8_0)}));
            }
        }
    }
}

TEST_P(OpsFusionTest, GatesNormedRows) {
    constexpr std::int64_t columns = 1280, outputs = 45;
    for (const WeightFormatInfo& entry : kWeightFormats) {
        for (const WeightFormat up_format : {entry.format, WeightFormat::Q8_0}) {
            for (const std::int64_t rows : {1, 3, 40}) {
                const auto gate = weights(entry.format, outputs, columns),
                           up = weights(up_format, outputs, columns);
                const Rows x = make_rows(rows, columns);
                expect_same(
                    [&](Side& side) {
                        const auto g = side.ops->load_matrix(source(entry.format, outputs, columns, gate));
                        const auto u = side.ops->load_matrix(source(up_format, outputs, columns, up));
                        const RmsNorm from = norm(side, x);
                        const HiddenRows out = output(side, rows, outputs);
                        side.ops->norm_gated_matmul(from, *g, *u, Activation::Silu, out);
                        return with_normed(side, out, from);
                    },
                    4 * std::max(product_bound(entry.format), product_bound(up_format)));
            }
        }
    }
}

// Matrices in three formats, whose products run at the same time on some GPUs.
TEST_P(OpsFusionTest, TakesRowsWhoseNormIsDone) {
    constexpr std::int64_t columns = 512;
    constexpr WeightFormat formats[] = {WeightFormat::Q8_0, WeightFormat::Q4_K, WeightFormat::Q6_K};
    const std::vector<std::vector<std::byte>> bytes = {
        weights(formats[0], 37, columns), weights(formats[1], 9, columns), weights(formats[2], 200, columns)};
    const Rows x = make_rows(1, columns);
    expect_same(
        [&](Side& side) {
            std::vector<std::unique_ptr<WeightMatrix>> matrices;
            std::vector<const WeightMatrix*> all;
            for (std::size_t i = 0; i < bytes.size(); ++i) {
                const std::int64_t outputs[] = {37, 9, 200};
                matrices.push_back(side.ops->load_matrix(source(formats[i], outputs[i], columns, bytes[i])));
                all.push_back(matrices.back().get());
            }
            RmsNorm done = norm(side, x);
            done.out = side.hidden(x.x, columns);
            done.done = true;
            const HiddenRows out = output(side, 1, 246);
            side.ops->norm_matmul(done, all, out);
            return with_normed(side, out, done);
        },
        product_bound(WeightFormat::Q8_0));
}

// Each expert's logit is that of the one before and the same step, far above rounding errors, so that all
// implementations choose the same experts. 8,192 columns: more than the router's kernel has room for.
TEST_P(OpsFusionTest, RoutesNormedRows) {
    for (const int experts : {8, 130}) {
        for (const std::int64_t columns : {256, 5120, 8192}) {
            for (const std::int64_t rows : {1, 3, 5}) {
                Rows x = make_rows(rows, columns);
                const auto direction = normals(columns);
                for (std::size_t i = 0; i < x.x.size(); ++i)
                    x.x[i] = 2 * direction[i % static_cast<std::size_t>(columns)] + x.x[i] / 3;
                std::vector<float> router;
                for (int e = 0; e < experts; ++e)
                    for (const float d : direction)
                        router.push_back(0.1F * static_cast<float>(e) * d / static_cast<float>(columns));
                // A logit of about 1, so that rounded columns change the gate's weight little.
                const auto gate = normals(columns, 1 / std::sqrt(static_cast<float>(columns)));
                for (const bool normed : {false, true}) {
                    for (const bool shared : {false, true})
                        expect_same([&](Side& side) {
                            return routed(side, x, router, shared ? gate : std::vector<float>{}, experts,
                                          normed);
                        });
                }
            }
        }
    }
}

TEST_P(OpsFusionTest, AddsExpertsToTheirOutput) {
    for (const WeightFormat format : {WeightFormat::F16, WeightFormat::Q8_0, WeightFormat::Q4_K})
        for (const std::int64_t rows : {1, 6, 50}) check_added_experts(format, rows);
}

TEST_P(OpsFusionTest, ReportsASumThatIsNotFinite) {
    constexpr std::int64_t columns = 256;
    const auto w = weights(WeightFormat::Q8_0, 8, columns);
    for (const int rows : {1, 3}) {
        Rows x = make_rows(rows, columns);
        x.x[x.x.size() - 3] = std::numeric_limits<float>::infinity();
        Side side(GetParam().make());
        const auto matrix = side.ops->load_matrix(source(WeightFormat::Q8_0, 8, columns, w));
        const WeightMatrix* const all[] = {matrix.get()};
        side.ops->norm_matmul(norm(side, x), all, output(side, rows, 8));
        const SentinelReport report = side.ops->take_sentinel();
        EXPECT_TRUE(report.tripped);
        EXPECT_EQ(report.place.layer, 3);
        EXPECT_EQ(report.place.operation, 1);
        EXPECT_EQ(report.row, rows - 1);
    }
}

}  // namespace
}  // namespace voltpile::llm
