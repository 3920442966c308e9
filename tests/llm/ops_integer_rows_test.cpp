// Products of one to four rows that may be sums of integers. GPUs compute them if batch-invariant, those of
// compute capability 9.0 by other kernels than those of more rows, to the same bits (in large matrices
// always, ops_large_matrices_test.cpp). On CPUs rows never depend on others.
#include <array>

#include "llm/integer_matrices.h"

namespace voltpile::llm {
namespace {

constexpr std::int64_t all_rows = 20;

struct RowShape {
    const char* name;
    std::vector<std::int64_t> outputs;  // of each matrix
    bool gated;
    std::int64_t columns;
};

class OpsIntegerRowsTest : public OpsTest {
  protected:
    // The matrices of a shape, and 20 rows of x.
    struct Product {
        RowShape shape;
        Side side;
        std::vector<std::vector<std::byte>> bytes;
        std::vector<float> x;
        std::unique_ptr<IntegerMatrices> matrices;

        std::int64_t width() const {
            std::int64_t sum = 0;
            for (const std::int64_t each : shape.outputs) sum += each;
            return shape.gated ? shape.outputs[0] : sum;
        }
        // Of rows `first` to first + count - 1.
        std::vector<float> rows(const std::vector<float>& of, std::int64_t first, std::int64_t count) const {
            const auto each = static_cast<std::ptrdiff_t>(of.size()) / all_rows;
            return {of.begin() + first * each, of.begin() + (first + count) * each};
        }
        HiddenRows hidden(std::int64_t first, std::int64_t count) {
            return side.hidden(rows(x, first, count), shape.columns);
        }
        HiddenRows room(std::int64_t count) {
            return side.hidden(std::vector<float>(static_cast<std::size_t>(count * width())), width());
        }
        std::vector<float> multiply(std::int64_t first, std::int64_t count) {
            const HiddenRows out = room(count);
            const auto& all = matrices->all;
            if (shape.gated)
                side.ops->gated_matmul(hidden(first, count), *all[0], *all[1], Activation::Silu, out);
            else
                side.ops->matmul(hidden(first, count), all, out);
            return side.down(out);
        }
    };
    Product product(const RowShape& shape) {
        Product p{shape, Side(GetParam().make()), {}, normals(all_rows * shape.columns), nullptr};
        std::vector<MatrixSource> sources;
        p.bytes.reserve(shape.outputs.size());
        for (const std::int64_t each : shape.outputs) {
            p.bytes.push_back(weights(WeightFormat::Q8_0, each, shape.columns));
            sources.push_back(source(WeightFormat::Q8_0, each, shape.columns, p.bytes.back()));
        }
        p.matrices = std::make_unique<IntegerMatrices>(p.side, sources, shape.gated);
        return p;
    }
    // Calls check(first, count) for each number of rows.
    template <class Check>
    static void each_count(const Check& check) {
        for (std::int64_t count = 1; count <= 5; ++count) {
            SCOPED_TRACE(std::to_string(count) + " rows");
            check(7 - count, count);
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Cpu, OpsIntegerRowsTest, testing::ValuesIn(cpu_ops_makers()),
                         [](const auto& maker) { return maker.param.name; });
INSTANTIATE_TEST_SUITE_P(Gpu, OpsIntegerRowsTest, testing::Values(gpu_ops_maker(true, room_for_copies)),
                         [](const auto& maker) { return maker.param.name; });

// Matrices that end within eight rows; more weights than a block takes at once; and rows of x that a block
// cannot round, or of which it can hold fewer than four.
TEST_P(OpsIntegerRowsTest, FewRowsHaveTheBitsOfMany) {
    for (const RowShape& shape :
         {RowShape{"one matrix", {200}, false, 1280}, RowShape{"three matrices", {264, 40, 45}, false, 768},
          RowShape{"gate and up", {150, 150}, true, 1280}, RowShape{"few columns", {90}, false, 96},
          RowShape{"few outputs", {5}, false, 4096}, RowShape{"many outputs", {34000}, false, 128},
          RowShape{"many gates", {17000, 17000}, true, 64}, RowShape{"wide rows", {72}, false, 10240},
          RowShape{"wider rows", {24, 24}, false, 18432}, RowShape{"the widest rows", {24}, false, 36864}}) {
        SCOPED_TRACE(shape.name);
        Product p = product(shape);
        const auto all = p.multiply(0, all_rows);
        each_count([&](std::int64_t first, std::int64_t count) {
            EXPECT_EQ(p.multiply(first, count), p.rows(all, first, count));
        });
    }
}

// The norm is in the product for one row, and otherwise in the kernel that rounds the rows.
TEST_P(OpsIntegerRowsTest, NormedRowsHaveTheBitsOfMany) {
    for (const std::int64_t columns : {640, 4096, 18432}) {
        Product p = product({"", {72, 40}, false, columns});
        const auto delta = normals(all_rows * columns, 2), weight = normals(columns, 0.2F, 1);
        for (const bool added : {false, true}) {
            SCOPED_TRACE(std::to_string(columns) + " columns" + (added ? ", added rows" : ""));
            const auto normed = [&](std::int64_t first, std::int64_t count) {
                RmsNorm norm{
                    p.side.rows(p.rows(p.x, first, count), columns),
                    p.side.up(weight),
                    1e-5F,
                    {3, 1},
                    p.side.hidden(std::vector<float>(static_cast<std::size_t>(count * columns)), columns)};
                if (added) norm.delta = {p.side.rows(p.rows(delta, first, count), columns), nullptr};
                const HiddenRows out = p.room(count);
                p.side.ops->norm_matmul(norm, p.matrices->all, out);
                return std::array{p.side.down(out), p.side.down(norm.out), p.side.down(norm.x)};
            };
            const auto all = normed(0, all_rows);
            each_count([&](std::int64_t first, std::int64_t count) {
                const auto some = normed(first, count);
                for (std::size_t i = 0; i < some.size(); ++i)
                    EXPECT_EQ(some[i], p.rows(all[i], first, count)) << "result " << i;
            });
        }
    }
}

// Adding the product, and then the bias, rounds as a sum of what is stored.
TEST_P(OpsIntegerRowsTest, AddedProductsHaveTheBitsOfStoredOnes) {
    for (const std::int64_t columns : {512, 10240}) {
        constexpr std::int64_t outputs = 300;
        Product p = product({"", {outputs}, false, columns});
        const auto before = normals(all_rows * outputs), bias = normals(outputs);
        const FloatRows stored =
            p.side.rows(std::vector<float>(static_cast<std::size_t>(all_rows * outputs)), outputs);
        p.side.ops->matmul(p.hidden(0, all_rows), *p.matrices->all[0], stored);
        const auto products = p.side.down(stored);
        for (const bool biased : {false, true}) {
            SCOPED_TRACE(std::to_string(columns) + " columns" + (biased ? ", bias" : ""));
            std::vector<float> sums(products.size());
            for (std::size_t i = 0; i < sums.size(); ++i) {
                sums[i] = before[i] + products[i];
                if (biased) sums[i] += bias[i % outputs];
            }
            each_count([&](std::int64_t first, std::int64_t count) {
                const FloatRows out = p.side.rows(p.rows(before, first, count), outputs);
                p.side.ops->add_matmul(p.hidden(first, count), *p.matrices->all[0],
                                       biased ? p.side.up(bias) : nullptr, out);
                EXPECT_EQ(p.side.down(out), p.rows(sums, first, count));
            });
        }
    }
}

}  // namespace
}  // namespace voltpile::llm
