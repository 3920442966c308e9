// Products with the factors of adapters, on every implementation.
#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

class OpsAdaptersTest : public OpsTest {
  protected:
    // Adapters of these ranks.
    AdapterSource adapters(std::int64_t columns, std::vector<std::int64_t> rows,
                           const std::vector<int>& ranks) {
        AdapterSource source{columns, std::move(rows), {}};
        std::int64_t outputs = 0;
        for (const std::int64_t each : source.rows) outputs += each;
        for (const int rank : ranks) {
            const std::int64_t matrices = std::ssize(source.rows);
            source.adapters.push_back(
                {rank, normals(matrices * rank * columns, 1 / std::sqrt(static_cast<float>(columns))),
                 normals(outputs * rank)});
        }
        return source;
    }

    // Rows of x, to be normed if there is a norm.
    static RmsNorm rows_of(Side& side, const std::vector<float>& x, std::int64_t columns,
                           const std::vector<float>* norm) {
        RmsNorm rows;
        rows.x = side.rows(x, columns);
        rows.weight = norm != nullptr ? side.up(*norm) : nullptr;
        rows.eps = 1e-5F;
        rows.out = side.hidden(norm != nullptr ? std::vector<float>(x.size()) : x, columns);
        rows.done = norm == nullptr;
        return rows;
    }

    static BatchView batch_of(Side& side, const std::vector<std::int32_t>& adapter) {
        BatchView view;
        view.rows = static_cast<int>(adapter.size());
        view.adapter = side.up(adapter);
        view.adapter_order = side.up(order_of(adapter));
        return view;
    }
};
VOLTPILE_FOR_ALL_OPS(OpsAdaptersTest);
INSTANTIATE_TEST_SUITE_P(GpuIntegers, OpsAdaptersTest,
                         testing::Values(gpu_ops_maker(false, std::size_t{1} << 28),
                                         gpu_ops_maker(true, std::size_t{1} << 28)),
                         [](const auto& maker) { return maker.param.name; });

// Rows of several adapters, of one that leaves the matrices as they are, and without one.
TEST_P(OpsAdaptersTest, AddsTheProductsOfEachRowsAdapter) {
    const std::vector<std::int32_t> adapter{0, -1, 2, 0, 1, 2, 2, 2, 0, 3, -1, 3, 0, 0, 0, 0, 0, 0, 1};
    const auto rows = std::ssize(adapter);
    for (const std::int64_t columns : {40, 37, 512}) {
        const AdapterSource source = adapters(columns, {48, 16, 16}, {3, 0, 16, 256});
        const auto x = normals(rows * columns), before = normals(rows * 100);
        for (const bool halves : {false, true})
            expect_same([&](Side& side) {
                const auto weights = side.ops->load_adapters(source);
                const BatchView batch = batch_of(side, adapter);
                if (halves) {
                    const HiddenRows out = side.hidden(before, 100);
                    side.ops->add_adapters(side.hidden(x, columns), *weights, batch, out);
                    return side.down(out);
                }
                const FloatRows out = side.rows(before, 100);
                side.ops->add_adapters(side.hidden(x, columns), *weights, batch, out);
                return side.down(out);
            });
    }
}

TEST_P(OpsAdaptersTest, RowsDoNotDependOnOthers) {
    constexpr std::int64_t columns = 96, outputs = 1100 + 37 + 1;
    const AdapterSource source = adapters(columns, {1100, 37, 1}, {8, 5});
    Side side(GetParam().make());
    const auto weights = side.ops->load_adapters(source);
    const auto run = [&](const std::vector<float>& rows, const std::vector<std::int32_t>& adapter) {
        const FloatRows out =
            side.rows(std::vector<float>(adapter.size() * static_cast<std::size_t>(outputs)), outputs);
        side.ops->add_adapters(side.hidden(rows, columns), *weights, batch_of(side, adapter), out);
        return side.down(out);
    };
    // Most have the first adapter; CPUs divide the work in other ways from eight rows of an adapter on.
    std::vector<std::int32_t> adapter;
    for (int r = 0; r < 48; ++r) adapter.push_back(r % 12 == 5 ? -1 : r % 8 == 1 ? 1 : 0);
    const auto x = normals(std::ssize(adapter) * columns);
    const std::vector<float> together = run(x, adapter);
    for (const std::ptrdiff_t group : {1, 3, 7, 8, 9})
        for (std::ptrdiff_t r = 0; r + group <= std::ssize(adapter); r += group) {
            const auto row = x.begin() + r * columns;
            const auto first = together.begin() + r * outputs;
            EXPECT_EQ(run({row, row + group * columns}, {adapter.begin() + r, adapter.begin() + r + group}),
                      std::vector<float>(first, first + group * outputs))
                << r << ' ' << group;
        }
}

TEST_P(OpsAdaptersTest, WithoutAdaptersNothingChanges) {
    const auto x = normals(3 * 32), before = normals(3 * 16);
    Side side(GetParam().make());
    const auto weights = side.ops->load_adapters(adapters(32, {16}, {4}));
    const FloatRows out = side.rows(before, 16);
    side.ops->add_adapters(side.hidden(x, 32), *weights, BatchView(), out);
    EXPECT_EQ(side.down(out), before);
}

// Products with those of adapters added, in the ways of GPUs: of few rows and many, of formats that may be
// rounded to integers and of one that may not, with norms and without, and of widths that are no multiple of
// anything.
struct AdaptedShape {
    WeightFormat format;
    std::int64_t columns, ffn;
};
constexpr AdaptedShape adapted_shapes[] = {
    {WeightFormat::Q8_0, 128, 48}, {WeightFormat::F16, 40, 37}, {WeightFormat::Q4_K, 512, 300}};
constexpr std::int64_t adapted_rows[] = {1, 4, 17, 70, 300};

std::vector<std::int32_t> adapters_in_turn(std::int64_t rows) {
    std::vector<std::int32_t> adapter;
    for (std::int64_t r = 0; r < rows; ++r) adapter.push_back(static_cast<int>(r % 4) - 1);
    return adapter;
}
std::vector<float> zeros(std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count));
}

TEST_P(OpsAdaptersTest, GatesProductsWithTheirAdapters) {
    for (const auto& [format, columns, ffn] : adapted_shapes)
        for (const Activation activation : {Activation::Silu, Activation::GeluTanh})
            for (const std::int64_t rows : adapted_rows) {
                SCOPED_TRACE(std::string(name(format)) + ", " + std::to_string(rows) + " rows");
                const AdapterSource source = adapters(columns, {ffn, ffn}, {8, 0, 20});
                const auto gate = weights(format, ffn, columns), up = weights(format, ffn, columns);
                const auto x = normals(rows * columns), norm = normals(columns);
                for (const bool normed : {false, true})
                    expect_same(
                        [&](Side& side) {
                            const auto g = side.ops->load_matrix(OpsTest::source(format, ffn, columns, gate)),
                                       u = side.ops->load_matrix(OpsTest::source(format, ffn, columns, up));
                            WeightMatrix* const both[] = {g.get(), u.get()};
                            side.ops->allow_integers(both, true);
                            const auto factors = side.ops->load_adapters(source);
                            const HiddenRows out = side.hidden(zeros(rows * ffn), ffn);
                            side.ops->adapted_gated_matmul(
                                rows_of(side, x, columns, normed ? &norm : nullptr), *g, *u, activation,
                                *factors, batch_of(side, adapters_in_turn(rows)),
                                side.hidden(zeros(rows * 2 * ffn), 2 * ffn), out);
                            return side.down(out);
                        },
                        4 * product_bound(format), integer_product_bound(format, true));
            }
}

// Numbers between the factors that are small, and that exceed the range of fp16.
TEST_P(OpsAdaptersTest, NumbersBetweenTheFactorsMayBeLarge) {
    constexpr std::int64_t columns = 64, outputs = 16;
    for (const float size : {1e-3F, 1.0F, 1e4F}) {
        AdapterSource source = adapters(columns, {outputs}, {8});
        for (float& each : source.adapters[0].a) each *= size > 1 ? 10.0F : 1.0F;
        for (float& each : source.adapters[0].b) each *= 1e-3F;
        auto x = normals(5 * columns);
        for (float& each : x) each = float_from_half(half_from_float(each * size));
        expect_same([&](Side& side) {
            const auto weights = side.ops->load_adapters(source);
            const FloatRows out = side.rows(zeros(5 * outputs), outputs);
            side.ops->add_adapters(side.hidden(x, columns), *weights, batch_of(side, {0, 0, -1, 0, 0}), out);
            return side.down(out);
        });
    }
}

}  // namespace
}  // namespace voltpile::llm
