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

// Products of both matrices with the factors added, gated: of formats that GPUs multiply in several ways, with
// norms and without, and widths that are no multiple of anything.
TEST_P(OpsAdaptersTest, GatesProductsWithTheirAdapters) {
    for (const auto& [format, columns, ffn] :
         {std::tuple{WeightFormat::Q8_0, 128, 48}, {WeightFormat::F16, 40, 37}, {WeightFormat::Q4_K, 512, 300}})
        for (const Activation activation : {Activation::Silu, Activation::GeluTanh})
            for (const std::int64_t rows : {1, 4, 17, 70}) {
                SCOPED_TRACE(std::string(name(format)) + ", " + std::to_string(rows) + " rows");
                const AdapterSource source = adapters(columns, {ffn, ffn}, {8, 0, 20});
                const auto gate = weights(format, ffn, columns), up = weights(format, ffn, columns);
                const auto x = normals(rows * columns), norm = normals(columns);
                std::vector<std::int32_t> adapter;
                for (std::int64_t r = 0; r < rows; ++r) adapter.push_back(static_cast<int>(r % 4) - 1);
                const auto run = [&](Side& side, bool normed) {
                    const auto g = side.ops->load_matrix(OpsTest::source(format, ffn, columns, gate)),
                               u = side.ops->load_matrix(OpsTest::source(format, ffn, columns, up));
                    WeightMatrix* const both[] = {g.get(), u.get()};
                    side.ops->allow_integers(both, true);
                    const auto factors = side.ops->load_adapters(source);
                    const auto zeros = [&](std::int64_t count) {
                        return std::vector<float>(static_cast<std::size_t>(rows * count));
                    };
                    const HiddenRows out = side.hidden(zeros(ffn), ffn);
                    RmsNorm from;
                    from.x = side.rows(x, columns);
                    from.weight = normed ? side.up(norm) : nullptr;
                    from.eps = 1e-5F;
                    from.out = side.hidden(normed ? zeros(columns) : x, columns);
                    from.done = !normed;
                    side.ops->adapted_gated_matmul(from, *g, *u, activation, *factors, batch_of(side, adapter),
                                                   side.hidden(zeros(2 * ffn), 2 * ffn), out);
                    return side.down(out);
                };
                for (const bool normed : {false, true})
                    expect_same([&](Side& side) { return run(side, normed); },
                                4 * product_bound(format), integer_product_bound(format, true));
            }
}

}  // namespace
}  // namespace voltpile::llm
