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
        const auto x = normals(rows * columns);
        // A stride of 104 has whole groups of outputs on GPUs; sums to fp32 are as exact as on cores.
        for (const std::int64_t stride : {100, 104}) {
            const auto before = normals(rows * stride);
            expect_same([&](Side& side) {
                const auto weights = side.ops->load_adapters(source);
                const HiddenRows out = side.hidden(before, stride);
                side.ops->add_adapters(side.hidden(x, columns), *weights, batch_of(side, adapter), out);
                return side.down(out);
            });
            expect_same(
                [&](Side& side) {
                    const auto weights = side.ops->load_adapters(source);
                    const FloatRows out = side.rows(before, stride);
                    side.ops->add_adapters(side.hidden(x, columns), *weights, batch_of(side, adapter), out);
                    return side.down(out);
                },
                1e-11, 1e-10);
        }
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
    // Most have the first adapter; CPUs divide the work in other ways from eight rows of an adapter on, GPUs
    // from 17 and 513 rows on.
    std::vector<std::int32_t> adapter;
    for (int r = 0; r < 600; ++r) adapter.push_back(r % 12 == 5 ? -1 : r % 8 == 1 ? 1 : 0);
    const auto x = normals(std::ssize(adapter) * columns);
    const std::vector<float> together = run(x, adapter);
    for (const std::ptrdiff_t group : {1, 3, 7, 8, 9, 100})
        for (std::ptrdiff_t r = 0; r + group <= std::max<std::ptrdiff_t>(48, group); r += group) {
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

std::vector<std::int32_t> adapters_in_turn(std::int64_t rows) {
    std::vector<std::int32_t> adapter;
    for (std::int64_t r = 0; r < rows; ++r) adapter.push_back(static_cast<int>(r % 4) - 1);
    return adapter;
}
std::vector<float> zeros(std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count));
}

// Gate and up of a side, with the factors of adapters.
struct AdaptedGate {
    std::unique_ptr<WeightMatrix> gate, up;
    std::unique_ptr<AdapterWeights> factors;
};
AdaptedGate load_gate(Side& side, const MatrixSource& gate, const MatrixSource& up,
                      const AdapterSource& factors) {
    AdaptedGate loaded{side.ops->load_matrix(gate), side.ops->load_matrix(up),
                       side.ops->load_adapters(factors)};
    WeightMatrix* const both[] = {loaded.gate.get(), loaded.up.get()};
    side.ops->allow_integers(both, true);
    return loaded;
}
std::vector<float> run_gate(Side& side, const AdaptedGate& of, const RmsNorm& x, const BatchView& batch,
                            Activation activation) {
    const std::int64_t rows = x.out.rows, ffn = of.gate->rows();
    const HiddenRows out = side.hidden(zeros(rows * ffn), ffn);
    side.ops->adapted_gated_matmul(x, *of.gate, *of.up, activation, *of.factors, batch,
                                   side.hidden(zeros(rows * 2 * ffn), 2 * ffn), out);
    return side.down(out);
}

// In the ways of GPUs: of few rows and many, of formats that may be rounded to integers, with copies and
// without (from 1,025 rows on), and of one that may not, with norms and without, and of widths that are whole
// tiles or no multiple of anything.
TEST_P(OpsAdaptersTest, GatesProductsWithTheirAdapters) {
    struct Shape {
        WeightFormat format;
        std::int64_t columns, ffn;
        std::vector<std::int64_t> rows;
        Activation activation;
    };
    for (const auto& [format, columns, ffn, some_rows, activation] :
         {Shape{WeightFormat::Q8_0, 128, 192, {1, 4, 17, 70, 1100}, Activation::Silu},
          {WeightFormat::Q8_0, 128, 48, {1, 40}, Activation::GeluTanh},
          {WeightFormat::F16, 40, 37, {1, 4, 17, 70}, Activation::GeluTanh},
          {WeightFormat::Q4_K, 512, 300, {1, 17, 70}, Activation::Silu}})
        for (const std::int64_t rows : some_rows) {
            SCOPED_TRACE(std::string(name(format)) + ", " + std::to_string(rows) + " rows");
            const AdapterSource factors = adapters(columns, {ffn, ffn}, {8, 0, 20});
            const auto gate = weights(format, ffn, columns), up = weights(format, ffn, columns);
            const auto x = normals(rows * columns), norm = normals(columns);
            for (const bool normed : {false, true})
                expect_same(
                    [&](Side& side) {
                        const AdaptedGate loaded = load_gate(side, source(format, ffn, columns, gate),
                                                             source(format, ffn, columns, up), factors);
                        return run_gate(side, loaded, rows_of(side, x, columns, normed ? &norm : nullptr),
                                        batch_of(side, adapters_in_turn(rows)), activation);
                    },
                    4 * product_bound(format), integer_product_bound(format, true));
        }
}

TEST_P(OpsAdaptersTest, GatedRowsDoNotDependOnOthers) {
    constexpr std::int64_t columns = 256, rows = 600;
    for (const std::int64_t ffn : {48, 300}) {
        Side side(GetParam().make());
        if (!side.ops->batch_invariant()) GTEST_SKIP() << "the number of rows chooses the products";
        const auto gate = weights(WeightFormat::Q8_0, ffn, columns),
                   up = weights(WeightFormat::Q8_0, ffn, columns);
        const AdaptedGate loaded = load_gate(side, source(WeightFormat::Q8_0, ffn, columns, gate),
                                             source(WeightFormat::Q8_0, ffn, columns, up),
                                             adapters(columns, {ffn, ffn}, {16, 24, 0}));
        const auto x = normals(rows * columns);
        const std::vector<std::int32_t> adapter = adapters_in_turn(rows);
        const auto run = [&](std::int64_t first, std::int64_t count) {
            const auto begin = x.begin() + first * columns;
            return run_gate(side, loaded, rows_of(side, {begin, begin + count * columns}, columns, nullptr),
                            batch_of(side, {adapter.begin() + first, adapter.begin() + first + count}),
                            Activation::Silu);
        };
        const std::vector<float> together = run(0, rows);
        for (const auto& [first, count] :
             {std::pair<std::int64_t, std::int64_t>{0, 1}, {5, 1}, {7, 3}, {20, 40}, {13, 130}})
            EXPECT_EQ(run(first, count), std::vector<float>(together.begin() + first * ffn,
                                                            together.begin() + (first + count) * ffn))
                << ffn << ": " << first << ' ' << count;
    }
}

// Numbers between the factors that are small, and that exceed the range of fp16. Powers of two keep the
// inputs exact in fp16. GPUs round to steps of 5e-7, of which 1.4e-7 are an error on average, in numbers of
// about 1e-3.
TEST_P(OpsAdaptersTest, NumbersBetweenTheFactorsMayBeLarge) {
    constexpr std::int64_t columns = 64, outputs = 16;
    const auto run = [&](Side& side, float of_x, float of_a) {
        random_.seed(7);
        AdapterSource factors = adapters(columns, {outputs}, {8});
        for (float& each : factors.adapters[0].a) each *= of_a;
        for (float& each : factors.adapters[0].b) each /= 1024;
        auto x = normals(5 * columns);
        for (float& each : x) each *= of_x;
        const auto weights = side.ops->load_adapters(factors);
        const FloatRows out = side.rows(zeros(5 * outputs), outputs);
        side.ops->add_adapters(side.hidden(x, columns), *weights, batch_of(side, {0, 0, -1, 0, 0}), out);
        return side.down(out);
    };
    for (const auto& [of_x, of_a, bound] :
         {std::tuple{1.0F / 1024, 1.0F, 1e-7}, {1.0F, 1.0F, 1e-10}, {8192.0F, 8.0F, 1e-10}})
        expect_same([&](Side& side) { return run(side, of_x, of_a); }, 1e-11, bound);
    // About a million: a clamp makes the largest number of it instead of an infinity.
    Side clamped(GetParam().make(true));
    for (const float value : run(clamped, 8192, 128)) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace voltpile::llm
