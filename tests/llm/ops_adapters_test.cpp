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
        return view;
    }
};
VOLTPILE_FOR_ALL_OPS(OpsAdaptersTest);

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

TEST_P(OpsAdaptersTest, Gates) {
    for (const std::int64_t columns : {8, 37, 300})
        for (const Activation activation : {Activation::Silu, Activation::GeluTanh}) {
            const auto x = normals(3 * 2 * columns, 2);
            expect_same(
                [&](Side& side) {
                    const HiddenRows out =
                        side.hidden(std::vector<float>(static_cast<std::size_t>(3 * columns)), columns);
                    side.ops->gate(side.hidden(x, 2 * columns), activation, out);
                    return side.down(out);
                },
                1e-11);
        }
}

}  // namespace
}  // namespace voltpile::llm
