// Products that may be sums of integers (Ops::allow_integers), as GPUs compute them for many rows
// (LeastInt8Rows in ops/cuda/int8_product.h), or any if batch-invariant (ops_integer_rows_test.cpp): in tiles
// of 256 rows of weights, 32 to 256 rows of x and steps of 128 columns. Other implementations run the same
// tests.
#include <limits>
#include <utility>

#include "llm/integer_matrices.h"

namespace voltpile::llm {
namespace {

class OpsIntegerTilesTest : public OpsTest {
  protected:
    static constexpr std::int64_t outputs = 200;
    using Matrices = IntegerMatrices;

    // fp16 results of one matrix of Q8_0.
    static std::vector<float> product(Side& side, const std::vector<std::byte>& w,
                                      const std::vector<float>& x, std::int64_t columns) {
        const Matrices matrices(side, {source(WeightFormat::Q8_0, outputs, columns, w)}, false);
        const std::size_t rows = x.size() / static_cast<std::size_t>(columns);
        const HiddenRows out = side.hidden(std::vector<float>(rows * outputs), outputs);
        side.ops->matmul(side.hidden(x, columns), matrices.all, out);
        return side.down(out);
    }
    std::vector<float> tested(const std::vector<std::byte>& w, const std::vector<float>& x,
                              std::int64_t columns) const {
        Side side(GetParam().make());
        return product(side, w, x, columns);
    }
    static std::vector<float> wanted(const std::vector<std::byte>& w, const std::vector<float>& x,
                                     std::int64_t columns) {
        Side side(std::make_unique<ReferenceOps>());
        return product(side, w, x, columns);
    }
    // The number of rows from which on they do not depend on others.
    static std::size_t least_independent_rows() {
#if VOLTPILE_CUDA
        if (GetParam().name == "gpu") {
            const auto least = least_integer_rows();
            return least ? static_cast<std::size_t>(least->copied) : std::numeric_limits<std::size_t>::max();
        }
#endif
        return 1;
    }
    // first, count: of rows among others.
    using SomeRows = std::vector<std::pair<std::size_t, std::size_t>>;
    static SomeRows independent(SomeRows rows) {
        std::erase_if(rows, [](const auto& some) { return some.second < least_independent_rows(); });
        return rows;
    }
    double bound() const {
        return std::max(product_bound(WeightFormat::Q8_0), integer_product_bound(WeightFormat::Q8_0));
    }
    // An error is like a normal number; the largest of a million is five standard deviations.
    void expect_each_near(const std::vector<float>& got, const std::vector<float>& expected) const {
        double square = 0;
        for (const float value : expected) square += static_cast<double>(value) * value;
        const double most = 7 * std::sqrt(bound() * square / static_cast<double>(expected.size()));
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(got[i], expected[i], most) << "row " << i / outputs << ", output " << i % outputs;
    }
    static std::vector<float> row_of(const std::vector<float>& all, std::size_t row) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * outputs);
        return {begin, begin + outputs};
    }
};
INSTANTIATE_TEST_SUITE_P(Cpu, OpsIntegerTilesTest, testing::ValuesIn(cpu_ops_makers()),
                         [](const auto& maker) { return maker.param.name; });
INSTANTIATE_TEST_SUITE_P(Gpu, OpsIntegerTilesTest,
                         testing::Values(gpu_ops_maker(false, room_for_copies),
                                         gpu_ops_maker(true, room_for_copies)),
                         [](const auto& maker) { return maker.param.name; });

// Columns that are powers of two, multiples of them by an odd number, and no whole steps.
TEST_P(OpsIntegerTilesTest, ErrorsAreThoseOfRounding) {
    for (const std::int64_t columns : {96, 128, 576, 1280, 2048, 2880}) {
        const auto w = weights(WeightFormat::Q8_0, outputs, columns);
        for (const std::int64_t rows : {17, 33, 64, 65, 128, 129, 180, 220, 250, 300, 641, 1100}) {
            SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns");
            const auto x = normals(rows * columns);
            const auto got = tested(w, x, columns), expected = wanted(w, x, columns);
            EXPECT_LT(nmse(got, expected), bound());
            expect_each_near(got, expected);
        }
    }
}

// Integers are added without rounding, so neither the number of rows nor the division of the work matters.
TEST_P(OpsIntegerTilesTest, RowsDoNotDependOnOthers) {
    constexpr std::int64_t columns = 1280;
    constexpr std::size_t rows = 1100;
    const auto w = weights(WeightFormat::Q8_0, outputs, columns);
    const auto x = normals(static_cast<std::int64_t>(rows) * columns);
    const auto all = tested(w, x, columns);
    const SomeRows some_rows =
        independent({{0, 20}, {40, 33}, {500, 128}, {3, 200}, {900, 200}, {7, 1}, {7, 4}, {7, 16}});
    if (some_rows.empty()) GTEST_SKIP() << "no products of integers";
    for (const auto& [first, count] : some_rows) {
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first * columns);
        const std::vector<float> some(begin, begin + static_cast<std::ptrdiff_t>(count * columns));
        const auto got = tested(w, some, columns);
        for (std::size_t r = 0; r < count; ++r)
            ASSERT_EQ(row_of(got, r), row_of(all, first + r)) << count << " rows, " << first + r;
    }
}

TEST_P(OpsIntegerTilesTest, SumsOfEqualNumbersDoNotOverflow) {
    constexpr std::int64_t columns = 4096, rows = 130;
    auto w = weights(WeightFormat::Q8_0, outputs, columns);
    for (std::size_t block = 0; block < w.size(); block += block_bytes(WeightFormat::Q8_0))
        std::fill_n(w.begin() + static_cast<std::ptrdiff_t>(block) + 2, 32, std::byte{0x81});
    for (const float value : {1.0F, -1.0F}) {
        const std::vector<float> x(static_cast<std::size_t>(rows * columns), value);
        EXPECT_LT(nmse(tested(w, x, columns), wanted(w, x, columns)), bound());
    }
}

// Rows of zeros, of equal small numbers, with groups of zeros, and with columns that are a thousand times as
// large as others, in one row or in all: each row for itself.
TEST_P(OpsIntegerTilesTest, LargeColumnsDoNotHideSmallOnes) {
    constexpr std::int64_t columns = 1024, rows = 150;
    const auto w = weights(WeightFormat::Q8_0, outputs, columns);
    auto x = normals(rows * columns);
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
            float& value = x[static_cast<std::size_t>(r * columns + c)];
            if (r == 3 || c / 128 == 1)
                value = 0;
            else if (r == 7)
                value = 0x1p-10F;
            else if (c == 300 || (r == 11 && c == 5))
                value = 1000;
            else if (c / 128 == 4)
                value = float_from_half(half_from_float(value * 0x1p-7F));
        }
    }
    const auto got = tested(w, x, columns), expected = wanted(w, x, columns);
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
        if (r == 3)
            EXPECT_EQ(row_of(got, r), std::vector<float>(outputs, 0.0F));
        else
            EXPECT_LT(nmse(row_of(got, r), row_of(expected, r)), 2 * bound())
                << "row " << r;  // of 200 numbers
    }
}

TEST_P(OpsIntegerTilesTest, KeepsWhatIsNotFinite) {
    constexpr std::int64_t columns = 384;
    const auto w = weights(WeightFormat::Q8_0, outputs, columns);
    for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
        for (const std::size_t column : {5, 200, 383}) {
            std::vector<float> x(133 * columns, 0.5F);
            x[columns + column] = bad;
            const auto out = tested(w, x, columns);
            for (std::size_t i = 0; i < out.size(); ++i)
                ASSERT_EQ(i / outputs != 1, std::isfinite(out[i]))
                    << "column " << column << ", row " << i / outputs;
        }
    }
}

// A weight that is not finite reaches all rows of x, and no other weights.
TEST_P(OpsIntegerTilesTest, KeepsWeightsThatAreNotFinite) {
    constexpr std::int64_t columns = 384;
    auto w = weights(WeightFormat::Q8_0, outputs, columns);
    put_half(w.data() + (17 * columns / 32 + 5) * static_cast<std::int64_t>(block_bytes(WeightFormat::Q8_0)),
             std::nan(""));
    const auto out = tested(w, std::vector<float>(133 * columns, 0.5F), columns);
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(i % outputs != 17, std::isfinite(out[i])) << i;
}

// With 10,240 rows of weights and 132 multiprocessors, three workers share each tile of fp16 products.
TEST_P(OpsIntegerTilesTest, DoesNotRoundOtherProducts) {
    constexpr std::int64_t columns = 1024, rows = 100, many = 10240;
    const auto w = weights(WeightFormat::Q8_0, many, columns);
    const auto x = normals(rows * columns);
    expect_same(
        [&](Side& side) {
            const auto matrix = side.ops->load_matrix(source(WeightFormat::Q8_0, many, columns, w));
            const WeightMatrix* const one[] = {matrix.get()};
            const HiddenRows out =
                side.hidden(std::vector<float>(static_cast<std::size_t>(rows * many)), many);
            side.ops->matmul(side.hidden(x, columns), one, out);
            return side.down(out);
        },
        product_bound(WeightFormat::Q8_0));
}

TEST_P(OpsIntegerTilesTest, DoesNotRoundWhereNotAllowed) {
    constexpr std::int64_t columns = 1024, rows = 1100;
    const auto w = weights(WeightFormat::Q8_0, outputs, columns);
    const auto x = normals(rows * columns);
    expect_same(
        [&](Side& side) {
            const auto matrix = side.ops->load_matrix(source(WeightFormat::Q8_0, outputs, columns, w));
            const FloatRows out =
                side.rows(std::vector<float>(static_cast<std::size_t>(rows * outputs)), outputs);
            side.ops->matmul(side.hidden(x, columns), *matrix, out);
            return side.down(out);
        },
        product_bound(WeightFormat::Q8_0));
}

// Matrices beside each other end within tiles, in all formats, as fp16 and alone as fp32. Those that are
// multiplied with others than they may be rounded with keep their accuracy.
TEST_P(OpsIntegerTilesTest, ManyMatricesAndGates) {
    constexpr std::int64_t columns = 768, rows = 200;
    constexpr std::int64_t widths[] = {264, 40, 45};
    constexpr std::int64_t width = 349;
    for (const WeightFormatInfo& entry : kWeightFormats) {
        const WeightFormat format = entry.format;
        if (gpu_format(format) == WeightFormat::F16) continue;
        SCOPED_TRACE(entry.name);
        const auto x = normals(rows * columns);
        std::vector<std::vector<std::byte>> bytes;
        std::vector<MatrixSource> sources;
        bytes.reserve(std::size(widths));
        for (const std::int64_t each : widths) {
            bytes.push_back(weights(format, each, columns));
            sources.push_back(source(format, each, columns, bytes.back()));
        }
        const auto joined = [&](bool alone) {
            return [&, alone](Side& side) {
                const Matrices matrices(side, sources, false);
                const std::int64_t count = alone ? widths[0] : width;
                const HiddenRows out =
                    side.hidden(std::vector<float>(static_cast<std::size_t>(rows * count)), count);
                side.ops->matmul(side.hidden(x, columns), std::span(matrices.all).first(alone ? 1 : 3), out);
                return side.down(out);
            };
        };
        expect_same(joined(false), product_bound(format), integer_product_bound(format));
        expect_same(joined(true), product_bound(format));
        expect_same(
            [&](Side& side) {
                const Matrices matrices(side, {sources[0]}, false);
                const FloatRows out =
                    side.rows(std::vector<float>(static_cast<std::size_t>(rows * widths[0])), widths[0]);
                side.ops->matmul(side.hidden(x, columns), *matrices.all[0], out);
                return side.down(out);
            },
            product_bound(format), integer_product_bound(format));
        const auto gate = weights(format, outputs, columns), up = weights(format, outputs, columns);
        expect_same(
            [&](Side& side) {
                const Matrices matrices(
                    side, {source(format, outputs, columns, gate), source(format, outputs, columns, up)},
                    true);
                const HiddenRows out =
                    side.hidden(std::vector<float>(static_cast<std::size_t>(rows * outputs)), outputs);
                side.ops->gated_matmul(side.hidden(x, columns), *matrices.all[0], *matrices.all[1],
                                       Activation::Silu, out);
                return side.down(out);
            },
            4 * product_bound(format), integer_product_bound(format, true));
    }
}

// With and without rows that are added before the norm. Not all numbers of columns fit the registers of a
// kernel that computes the norm, too.
TEST_P(OpsIntegerTilesTest, NormsOfRows) {
    for (const std::int64_t columns : {512, 640, 4096, 18432}) {
        const auto w = weights(WeightFormat::Q8_0, outputs, columns),
                   other = weights(WeightFormat::Q4_0, 40, columns);
        for (const std::int64_t rows : {1, 40, 200, 300}) {
            SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns");
            const auto x = normals(rows * columns, 3), delta = normals(rows * columns, 2),
                       weight = normals(columns, 0.2F, 1), bias = normals(columns);
            for (const int added : {0, 1, 2}) {
                expect_same(
                    [&](Side& side) {
                        const Matrices matrices(side,
                                                {source(WeightFormat::Q8_0, outputs, columns, w),
                                                 source(WeightFormat::Q4_0, 40, columns, other)},
                                                false);
                        RmsNorm norm{side.rows(x, columns),
                                     side.up(weight),
                                     1e-5F,
                                     {3, 1},
                                     side.hidden(std::vector<float>(x.size()), columns)};
                        if (added > 0)
                            norm.delta = {side.rows(delta, columns), added > 1 ? side.up(bias) : nullptr};
                        const HiddenRows out =
                            side.hidden(std::vector<float>(static_cast<std::size_t>(rows * (outputs + 40))),
                                        outputs + 40);
                        side.ops->norm_matmul(norm, matrices.all, out);
                        EXPECT_FALSE(side.ops->take_sentinel().tripped);
                        auto all = side.down(out);
                        for (const auto& more : {side.down(norm.out), side.down(norm.x)})
                            all.insert(all.end(), more.begin(), more.end());
                        return all;
                    },
                    bound(), bound());
            }
        }
    }
}

// With norms, few rows of so many columns have other kernels, unless the operations are batch-invariant.
TEST_P(OpsIntegerTilesTest, NormedRowsDoNotDependOnOthers) {
    constexpr std::int64_t columns = 4096;
    constexpr std::size_t rows = 300;
    const auto w = weights(WeightFormat::Q8_0, outputs, columns);
    const auto x = normals(static_cast<std::int64_t>(rows) * columns, 3),
               delta = normals(static_cast<std::int64_t>(rows) * columns, 2),
               weight = normals(columns, 0.2F, 1);
    Side side(GetParam().make());
    const Matrices matrices(side, {source(WeightFormat::Q8_0, outputs, columns, w)}, false);
    const auto normed = [&](std::size_t first, std::size_t count) {
        const auto some = [&](const std::vector<float>& all) {
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * columns);
            return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(count * columns));
        };
        RmsNorm norm{side.rows(some(x), columns),
                     side.up(weight),
                     1e-5F,
                     {3, 1},
                     side.hidden(std::vector<float>(count * columns), columns)};
        norm.delta = {side.rows(some(delta), columns), nullptr};
        const HiddenRows out = side.hidden(std::vector<float>(count * outputs), outputs);
        side.ops->norm_matmul(norm, matrices.all, out);
        return side.down(out);
    };
    const auto all = normed(0, rows);
    SomeRows some_rows = independent({{0, 200}, {31, 256}});
    if (some_rows.empty()) GTEST_SKIP() << "no products of integers";
    if (GetParam().name != "gpu") some_rows.insert(some_rows.end(), {{7, 1}, {9, 4}, {50, 16}, {100, 150}});
    for (const auto& [first, count] : some_rows) {
        const auto got = normed(first, count);
        for (std::size_t r = 0; r < count; ++r)
            ASSERT_EQ(row_of(got, r), row_of(all, first + r)) << count << " rows, " << first + r;
    }
}

TEST_P(OpsIntegerTilesTest, NormsReportTheRowThatIsNotFinite) {
    constexpr std::int64_t columns = 512;
    const auto w = weights(WeightFormat::Q8_0, outputs, columns);
    auto x = normals(50 * columns);
    x[31 * columns + 7] = std::numeric_limits<float>::infinity();
    Side side(GetParam().make());
    const Matrices matrices(side, {source(WeightFormat::Q8_0, outputs, columns, w)}, false);
    const RmsNorm norm{side.rows(x, columns),
                       side.up(std::vector<float>(columns, 1)),
                       1e-5F,
                       {3, 1},
                       side.hidden(std::vector<float>(x.size()), columns)};
    side.ops->norm_matmul(norm, matrices.all, side.hidden(std::vector<float>(50 * outputs), outputs));
    const SentinelReport report = side.ops->take_sentinel();
    EXPECT_TRUE(report.tripped);
    EXPECT_EQ(report.row, 31);
    EXPECT_EQ(report.place.layer, 3);
}

TEST_P(OpsIntegerTilesTest, MatricesInDifferentFormats) {
    constexpr std::int64_t columns = 512, rows = 300;
    const WeightFormat formats[] = {WeightFormat::Q4_K, WeightFormat::Q6_K, WeightFormat::Q8_0};
    std::vector<std::vector<std::byte>> bytes;
    std::vector<MatrixSource> sources;
    bytes.reserve(std::size(formats));
    for (const WeightFormat format : formats) {
        bytes.push_back(weights(format, outputs, columns));
        sources.push_back(source(format, outputs, columns, bytes.back()));
    }
    const auto x = normals(rows * columns);
    expect_same(
        [&](Side& side) {
            const Matrices matrices(side, sources, false);
            const HiddenRows out =
                side.hidden(std::vector<float>(static_cast<std::size_t>(rows * 3 * outputs)), 3 * outputs);
            side.ops->matmul(side.hidden(x, columns), matrices.all, out);
            return side.down(out);
        },
        product_bound(WeightFormat::Q8_0), integer_product_bound(WeightFormat::Q8_0));
    expect_same(
        [&](Side& side) {
            const Matrices matrices(side, {sources[0], sources[1]}, true);
            const HiddenRows out =
                side.hidden(std::vector<float>(static_cast<std::size_t>(rows * outputs)), outputs);
            side.ops->gated_matmul(side.hidden(x, columns), *matrices.all[0], *matrices.all[1],
                                   Activation::Silu, out);
            return side.down(out);
        },
        4 * product_bound(WeightFormat::Q8_0), integer_product_bound(WeightFormat::Q8_0, true));
}

#if VOLTPILE_CUDA
// Without copies weights are rounded for each product. With scratch memory for the sums of workers and little
// more, tiles and rows come in parts, and workers sum others. All that does not change a bit.
TEST(OpsIntegerTilesGpuTest, CopiesAndPartsDoNotMatter) {
    if (device_count() == 0 || !least_integer_rows()) GTEST_SKIP() << "no products of integers";
    constexpr std::int64_t columns = 1280, rows = 1500;
    constexpr std::int64_t widths[] = {3008, 1000, 1004};
    std::vector<std::vector<std::byte>> bytes;
    for (const std::int64_t width : widths)
        bytes.push_back(random_blocks(WeightFormat::Q5_K, 7 + bytes.size(),
                                      static_cast<std::size_t>(width * columns / 256), 0.03));
    std::mt19937 random(3);
    std::vector<float> x(static_cast<std::size_t>(rows * columns));
    for (float& value : x)
        value = float_from_half(half_from_float(std::normal_distribution<float>()(random)));
    const auto results = [&](std::size_t scratch_bytes, std::size_t integer_bytes) {
        CudaOpsSettings settings;
        settings.scratch_bytes = scratch_bytes;
        settings.integer_bytes = integer_bytes;
        Side side(make_cuda_ops(0, settings));
        const auto load = [&](std::size_t m) {
            return side.ops->load_matrix({WeightFormat::Q5_K, widths[m], columns,
                                          row_bytes(WeightFormat::Q5_K, columns), bytes[m].data(), false});
        };
        const auto q = load(0), k = load(1), v = load(2), gate = load(1), up = load(1);
        WeightMatrix *const all[] = {q.get(), k.get(), v.get()}, *const both[] = {gate.get(), up.get()};
        side.ops->allow_integers(all, false);
        side.ops->allow_integers(both, true);
        const HiddenRows in = side.hidden(x, columns),
                         joined = side.hidden(std::vector<float>(rows * 5012), 5012),
                         gated = side.hidden(std::vector<float>(rows * 1000), 1000);
        const WeightMatrix* const weights[] = {q.get(), k.get(), v.get()};
        side.ops->matmul(in, weights, joined);
        side.ops->gated_matmul(in, *gate, *up, Activation::Silu, gated);
        auto values = side.down(joined);
        const auto more = side.down(gated);
        values.insert(values.end(), more.begin(), more.end());
        return values;
    };
    const std::size_t sums =
        2 * sizeof(float) * 128 * 256 * static_cast<std::size_t>(device_info(0).multiprocessors);
    const auto copied = results(gpu_scratch_bytes, std::size_t{1} << 30);
    EXPECT_EQ(results(gpu_scratch_bytes, 0), copied);
    for (const std::size_t more : {2 << 20, 6 << 20}) {
        EXPECT_EQ(results(sums + more, 0), copied) << more;
        EXPECT_EQ(results(sums + more, std::size_t{1} << 30), copied) << more;
    }
}
#endif

}  // namespace
}  // namespace voltpile::llm
