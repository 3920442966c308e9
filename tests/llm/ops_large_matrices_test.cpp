// Products of a few rows with matrices so large that GPUs of compute capability 9.0 multiply three rows and
// more on tensor cores (is_large in ops/cuda/product.h), with a copy of the weights as integers and without;
// and of Q8_0, of which fewer rows are products of integers than of other formats (ops/cuda/int8_tiles.h).
#include "llm/integer_matrices.h"

namespace voltpile::llm {
namespace {

class OpsLargeMatricesTest : public OpsTest {
  protected:
    static constexpr std::int64_t columns = 4096, outputs = 8192;
    static constexpr std::int64_t rows_of_each[] = {1, 2, 3, 4, 5};

    static RmsNorm norm(Side& side, const std::vector<float>& x, const std::vector<float>& weight) {
        return {side.rows(x, columns),
                side.up(weight),
                1e-5F,
                {3, 1},
                side.hidden(std::vector<float>(x.size(), 7), columns)};
    }
    static HiddenRows output(Side& side, std::int64_t rows, std::int64_t width) {
        return side.hidden(std::vector<float>(static_cast<std::size_t>(rows * width)), width);
    }
    double bound(WeightFormat format, bool gated) const {
        return std::max((gated ? 4 : 1) * product_bound(format), integer_product_bound(format, gated));
    }
};
INSTANTIATE_TEST_SUITE_P(Gpu, OpsLargeMatricesTest,
                         testing::Values(gpu_ops_maker(false), gpu_ops_maker(false, room_for_copies),
                                         gpu_ops_maker(true, room_for_copies)),
                         [](const auto& maker) { return maker.param.name + std::to_string(maker.index); });

TEST_P(OpsLargeMatricesTest, MultipliesNormedRows) {
    using enum WeightFormat;
    for (const WeightFormat format : {Q4_K, IQ4_XS, Q8_0}) {
        const auto w = weights(format, outputs, columns), other = weights(Q6_K, 37, columns);
        const auto weight = normals(columns, 0.2F, 1);
        for (const std::int64_t rows : rows_of_each) {
            SCOPED_TRACE(std::string(name(format)) + ", " + std::to_string(rows) + " rows");
            const auto x = normals(rows * columns, 3);
            expect_same(
                [&](Side& side) {
                    const IntegerMatrices matrices(
                        side, {source(format, outputs, columns, w), source(Q6_K, 37, columns, other)}, false);
                    const RmsNorm from = norm(side, x, weight);
                    const HiddenRows out = output(side, rows, outputs + 37);
                    side.ops->norm_matmul(from, matrices.all, out);
                    EXPECT_FALSE(side.ops->take_sentinel().tripped);
                    return side.down(out);
                },
                1e-11, bound(format, false));
        }
    }
}

TEST_P(OpsLargeMatricesTest, AddsProductsToTheirOutput) {
    const auto w = weights(WeightFormat::Q5_K, outputs, columns);
    const auto bias = normals(outputs, 30);
    for (const std::int64_t rows : rows_of_each) {
        SCOPED_TRACE(std::to_string(rows) + " rows");
        const auto x = normals(rows * columns), former = normals(rows * outputs, 30);
        expect_same(
            [&](Side& side) {
                const IntegerMatrices matrices(side, {source(WeightFormat::Q5_K, outputs, columns, w)},
                                               false);
                const FloatRows out = side.rows(former, outputs);
                side.ops->add_matmul(side.hidden(x, columns), *matrices.all[0], side.up(bias), out);
                return side.down(out);
            },
            1e-11, bound(WeightFormat::Q5_K, false));
    }
}

TEST_P(OpsLargeMatricesTest, GatesNormedRows) {
    using enum WeightFormat;
    for (const WeightFormat up_format : {Q4_K, Q6_K}) {
        const auto gate = weights(Q4_K, outputs, columns), up = weights(up_format, outputs, columns);
        const auto weight = normals(columns, 0.2F, 1);
        for (const std::int64_t rows : rows_of_each) {
            SCOPED_TRACE(std::string(name(up_format)) + ", " + std::to_string(rows) + " rows");
            const auto x = normals(rows * columns, 3);
            expect_same(
                [&](Side& side) {
                    const IntegerMatrices matrices(
                        side, {source(Q4_K, outputs, columns, gate), source(up_format, outputs, columns, up)},
                        true);
                    const RmsNorm from = norm(side, x, weight);
                    const HiddenRows out = output(side, rows, outputs);
                    side.ops->norm_gated_matmul(from, *matrices.all[0], *matrices.all[1], Activation::Silu,
                                                out);
                    EXPECT_FALSE(side.ops->take_sentinel().tripped);
                    return side.down(out);
                },
                1e-11, bound(Q4_K, true));
        }
    }
}

#if VOLTPILE_CUDA

class OpsLargeBytesTest : public OpsTest {};
INSTANTIATE_TEST_SUITE_P(Gpu, OpsLargeBytesTest, testing::Values(gpu_ops_maker(false, room_for_copies)),
                         [](const auto& maker) { return maker.param.name; });

// A row of integers has the same bits beside any others, a row of fp16 tiles has not.
TEST_P(OpsLargeBytesTest, FewRowsHaveTheBitsOfMany) {
    Side side(GetParam().make());
    const auto of_rows = least_integer_rows();
    if (!of_rows) GTEST_SKIP() << "no products of integers";
    constexpr std::int64_t columns = 4096, outputs = 4096;
    const std::int64_t least = of_rows->of_bytes, rows = 4 * least;
    const auto w = weights(WeightFormat::Q8_0, outputs, columns);
    const auto x = normals(rows * columns);
    const IntegerMatrices matrices(side, {source(WeightFormat::Q8_0, outputs, columns, w)}, false);
    const auto some = [rows](const std::vector<float>& all, std::int64_t count) {
        return std::vector<float>(all.end() - count * std::ssize(all) / rows, all.end());
    };
    const auto product = [&](std::int64_t count) {
        const HiddenRows out =
            side.hidden(std::vector<float>(static_cast<std::size_t>(count * outputs)), outputs);
        side.ops->matmul(side.hidden(some(x, count), columns), matrices.all, out);
        return side.down(out);
    };
    const auto all = product(rows);
    for (const std::int64_t count : {least, 3 * least + 1})
        EXPECT_EQ(product(count), some(all, count)) << count << " rows";
}

#endif

}  // namespace
}  // namespace voltpile::llm
