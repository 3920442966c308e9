#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

class OpsMatrixTest : public OpsTest {};
VOLTPILE_FOR_ALL_OPS(OpsMatrixTest);

struct MatrixShape {
    std::int64_t rows, weights, columns;
};

// Odd sizes wherever the format allows them: columns are whole blocks, some beyond 1024.
std::vector<MatrixShape> shapes(WeightFormat format) {
    const auto block = static_cast<std::int64_t>(block_size(format));
    std::vector<MatrixShape> all;
    for (const std::int64_t rows : {1, 2, 3, 5, 7, 8, 13, 33, 70}) all.push_back({rows, 37, 5 * 256});
    all.push_back({1, 73, block});  // so many that errors of 8-bit activations come near their mean
    all.push_back({9, 3, 3 * block});
    all.push_back({150, 37, 5 * block});
    if (block == 1) {
        all.push_back({1, 6, 1});
        all.push_back({11, 5, 1063});
        all.push_back({2, 70, 31});
    }
    return all;
}

TEST_P(OpsMatrixTest, MultipliesEveryFormatAndManySizes) {
    for (const WeightFormatInfo& entry : kWeightFormats) {
        for (const MatrixShape& shape : shapes(entry.format)) {
            SCOPED_TRACE(std::string(entry.name) + ", " + std::to_string(shape.rows) + " rows, " +
                         std::to_string(shape.columns) + " columns");
            const auto w = weights(entry.format, shape.weights, shape.columns);
            const auto x = normals(shape.rows * shape.columns);
            expect_same(
                [&](Side& side) {
                    const auto matrix =
                        side.ops->load_matrix(source(entry.format, shape.weights, shape.columns, w));
                    const FloatRows out =
                        side.rows(std::vector<float>(static_cast<std::size_t>(shape.rows * shape.weights)),
                                  shape.weights);
                    side.ops->matmul(side.hidden(x, shape.columns), *matrix, out);
                    return side.down(out);
                },
                product_bound(entry.format));
        }
    }
}

// Integers of which each 32 have the largest magnitude 127 are not rounded by CpuOps.
TEST_P(OpsMatrixTest, MultipliesIntegerActivationsExactly) {
    for (const WeightFormatInfo& entry : kWeightFormats) {
        for (const std::int64_t rows : {1, 2, 5, 9}) {
            SCOPED_TRACE(std::string(entry.name) + ", " + std::to_string(rows) + " rows");
            const std::int64_t columns = 5 * 256, weights_count = 37;
            const auto w = weights(entry.format, weights_count, columns);
            std::uniform_int_distribution<int> each(-127, 127);
            std::vector<float> x(static_cast<std::size_t>(rows * columns));
            for (float& value : x) value = static_cast<float>(each(random_));
            for (std::size_t i = 0; i < x.size(); i += 32) x[i + i / 32 % 32] = i % 64 == 0 ? 127 : -127;
            expect_same([&](Side& side) {
                const auto matrix = side.ops->load_matrix(source(entry.format, weights_count, columns, w));
                const FloatRows out = side.rows(
                    std::vector<float>(static_cast<std::size_t>(rows * weights_count)), weights_count);
                side.ops->matmul(side.hidden(x, columns), *matrix, out);
                return side.down(out);
            });
        }
    }
}

// Every stored integer and every activation as large as can be: CpuOps sums several products in 16 bits. Q3_K
// is stored with an offset, so it has the largest stored integer and the largest magnitude.
TEST_P(OpsMatrixTest, SumsOfTheLargestIntegersDoNotOverflow) {
    struct Largest {
        WeightFormat format;
        std::size_t begin, end;  // bytes of a block that hold integers
        std::byte value;
    };
    for (const Largest& each : {Largest{WeightFormat::Q8_0, 2, 34, std::byte{0x80}},
                                Largest{WeightFormat::Q4_0, 2, 18, std::byte{0xff}},
                                Largest{WeightFormat::Q4_K, 16, 144, std::byte{0xff}},
                                Largest{WeightFormat::Q5_K, 16, 176, std::byte{0xff}},
                                Largest{WeightFormat::Q6_K, 0, 192, std::byte{0xff}},
                                Largest{WeightFormat::MXFP4, 1, 17, std::byte{0x77}},
                                Largest{WeightFormat::Q4_1, 4, 20, std::byte{0xff}},
                                Largest{WeightFormat::UINT4, 4, 20, std::byte{0xff}},
                                Largest{WeightFormat::UINT4, 4, 20, std::byte{0x00}},
                                Largest{WeightFormat::Q5_0, 2, 22, std::byte{0xff}},
                                Largest{WeightFormat::Q5_1, 4, 24, std::byte{0xff}},
                                Largest{WeightFormat::Q2_K, 16, 80, std::byte{0xff}},
                                Largest{WeightFormat::Q3_K, 0, 96, std::byte{0xff}},
                                Largest{WeightFormat::Q3_K, 0, 96, std::byte{0x00}},
                                Largest{WeightFormat::IQ2_XS, 2, 66, std::byte{0xff}},
                                Largest{WeightFormat::IQ2_S, 2, 74, std::byte{0xff}},
                                Largest{WeightFormat::IQ4_NL, 2, 18, std::byte{0x00}},
                                Largest{WeightFormat::IQ4_XS, 8, 136, std::byte{0x00}}}) {
        for (const std::int64_t rows : {1, 5}) {
            SCOPED_TRACE(std::string(name(each.format)) + ", " + std::to_string(rows) + " rows");
            const std::int64_t columns = 2 * 256, weights_count = 19;
            auto w = weights(each.format, weights_count, columns);
            for (std::size_t block = 0; block < w.size(); block += block_bytes(each.format))
                for (std::size_t i = each.begin; i < each.end; ++i) w[block + i] = each.value;
            const std::vector<float> x(static_cast<std::size_t>(rows * columns), 127);
            expect_same([&](Side& side) {
                const auto matrix = side.ops->load_matrix(source(each.format, weights_count, columns, w));
                const FloatRows out = side.rows(
                    std::vector<float>(static_cast<std::size_t>(rows * weights_count)), weights_count);
                side.ops->matmul(side.hidden(x, columns), *matrix, out);
                return side.down(out);
            });
        }
    }
}

// A number that is not finite must reach the sentinel through every format.
TEST(CpuOpsTest, ProductsKeepWhatIsNotFinite) {
    constexpr std::int64_t columns = 512, weights_count = 19, rows = 3;
    for (const CpuLevel level : usable_cpu_levels()) {
        for (const WeightFormatInfo& entry : kWeightFormats) {
            const WeightFormat format = entry.format;
            if (format != WeightFormat::F16 && !has_integer_product(format)) continue;
            const auto bytes = random_blocks(
                format, 7, static_cast<std::size_t>(columns * weights_count) / entry.block_size, 0.03);
            for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
                std::vector<float> x(static_cast<std::size_t>(rows * columns), 0.5F);
                x[columns + 300] = bad;
                CpuOps ops({-1}, cpu_kernels(level));
                const auto matrix = ops.load_matrix(
                    {format, weights_count, columns, row_bytes(format, columns), bytes.data(), false});
                std::vector<float> out(static_cast<std::size_t>(rows * weights_count));
                ops.matmul(HiddenRows{x.data(), rows, columns}, *matrix,
                           FloatRows{out.data(), rows, weights_count});
                for (std::int64_t r = 0; r < rows; ++r)
                    EXPECT_EQ(r != 1, std::isfinite(out[static_cast<std::size_t>(r * weights_count)]))
                        << name(level) << ", " << name(format) << ", row " << r;
            }
        }
    }
}

TEST_P(OpsMatrixTest, ConcatenatesMatricesOfDifferentFormats) {
    const std::int64_t columns = 512;
    struct Formats {
        WeightFormat q, k, v;
    };
    // The second and third are one format on GPUs, or one layout with several grids.
    for (const Formats& of : {Formats{WeightFormat::Q4_K, WeightFormat::Q6_K, WeightFormat::F16},
                              Formats{WeightFormat::Q4_1, WeightFormat::Q5_1, WeightFormat::Q5_1},
                              Formats{WeightFormat::IQ2_XXS, WeightFormat::IQ2_XS, WeightFormat::IQ2_S}}) {
        const auto q = weights(of.q, 48, columns), k = weights(of.k, 17, columns),
                   v = weights(of.v, 19, columns);
        for (const std::int64_t rows : {1, 4, 21}) {
            SCOPED_TRACE(std::string(name(of.q)) + ", " + std::to_string(rows) + " rows");
            const auto x = normals(rows * columns);
            expect_same(
                [&](Side& side) {
                    const auto a = side.ops->load_matrix(source(of.q, 48, columns, q));
                    const auto b = side.ops->load_matrix(source(of.k, 17, columns, k));
                    const auto c = side.ops->load_matrix(source(of.v, 19, columns, v));
                    const WeightMatrix* all[] = {a.get(), b.get(), c.get()};
                    const HiddenRows out =
                        side.hidden(std::vector<float>(static_cast<std::size_t>(rows * 84)), 84);
                    side.ops->matmul(side.hidden(x, columns), all, out);
                    return side.down(out);
                },
                std::max({product_bound(of.q), product_bound(of.k), product_bound(of.v)}));
        }
    }
}

// By matrix-vector products, tiles, and wide tiles or cuBLAS.
TEST_P(OpsMatrixTest, GatesByOtherActivations) {
    constexpr std::int64_t columns = 512, outputs = 45;
    for (const WeightFormat format : {WeightFormat::F16, WeightFormat::Q8_0}) {
        const auto gate = weights(format, outputs, columns), up = weights(format, outputs, columns);
        for (const std::int64_t rows : {1, 3, 40, 400}) {
            const auto x = normals(rows * columns, 4);
            for (const Activation activation : {Activation::GeluTanh, Activation::ClampedSwiglu})
                expect_same(
                    [&](Side& side) {
                        const auto g = side.ops->load_matrix(source(format, outputs, columns, gate));
                        const auto u = side.ops->load_matrix(source(format, outputs, columns, up));
                        const HiddenRows out = side.hidden(
                            std::vector<float>(static_cast<std::size_t>(rows * outputs)), outputs);
                        side.ops->gated_matmul(side.hidden(x, columns), *g, *u, activation, out);
                        return side.down(out);
                    },
                    4 * product_bound(format));
        }
    }
}

TEST_P(OpsMatrixTest, MultipliesGatedInEveryFormat) {
    for (const WeightFormatInfo& entry : kWeightFormats) {
        for (const std::int64_t rows : {1, 3, 40}) {
            const std::int64_t columns = 1280, weights_count = 45;
            const auto gate = weights(entry.format, weights_count, columns);
            const auto up = weights(entry.format, weights_count, columns);
            const auto x = normals(rows * columns, 2);
            expect_same(
                [&](Side& side) {
                    const auto g = side.ops->load_matrix(source(entry.format, weights_count, columns, gate));
                    const auto u = side.ops->load_matrix(source(entry.format, weights_count, columns, up));
                    const HiddenRows out = side.hidden(
                        std::vector<float>(static_cast<std::size_t>(rows * weights_count)), weights_count);
                    side.ops->gated_matmul(side.hidden(x, columns), *g, *u, Activation::Silu, out);
                    return side.down(out);
                },
                4 * product_bound(entry.format));
        }
    }
}

TEST_P(OpsMatrixTest, MultipliesGatedOfTwoFormats) {
    const std::int64_t columns = 512, weights_count = 96;
    // With an F16 gate GPUs dequantize up if there are many rows.
    std::vector<std::pair<WeightFormat, WeightFormat>> pairs = {{WeightFormat::Q8_0, WeightFormat::F16},
                                                                {WeightFormat::IQ3_XXS, WeightFormat::IQ3_S}};
    for (const WeightFormatInfo& entry : kWeightFormats)
        if (entry.format != WeightFormat::F16) pairs.emplace_back(WeightFormat::F16, entry.format);
    for (const auto& [first, second] : pairs) {
        const auto gate = weights(first, weights_count, columns),
                   up = weights(second, weights_count, columns);
        for (const std::int64_t rows : {3, 40, 200}) {
            SCOPED_TRACE(std::to_string(rows) + " rows");
            const auto x = normals(rows * columns, 2);
            expect_same(
                [&](Side& side) {
                    const auto g = side.ops->load_matrix(source(first, weights_count, columns, gate));
                    const auto u = side.ops->load_matrix(source(second, weights_count, columns, up));
                    const HiddenRows out = side.hidden(
                        std::vector<float>(static_cast<std::size_t>(rows * weights_count)), weights_count);
                    side.ops->gated_matmul(side.hidden(x, columns), *g, *u, Activation::Silu, out);
                    return side.down(out);
                },
                4 * std::max(product_bound(first), product_bound(second)));
        }
    }
}

// GPUs divide such matrices into tiles of 128 or 256 weights (gated: half of gate and half of up), and tiles
// into steps of 128 columns. Each block takes an equal run of steps; here most runs end one tile and begin
// the next.
TEST_P(OpsMatrixTest, MultipliesManyTiles) {
    constexpr std::int64_t columns = 768, outputs = 488;
    for (const WeightFormatInfo& entry : kWeightFormats) {
        const WeightFormat format = entry.format;
        if (gpu_format(format) == WeightFormat::F16) continue;
        const auto first = weights(format, outputs, columns), second = weights(format, outputs, columns);
        for (const std::int64_t rows : {24, 64, 100, 130, 300}) {
            SCOPED_TRACE(std::string(entry.name) + ", " + std::to_string(rows) + " rows");
            const auto x = normals(rows * columns, 2);
            for (const bool gated : {false, true}) {
                expect_same(
                    [&](Side& side) {
                        const auto a = side.ops->load_matrix(source(format, outputs, columns, first));
                        const auto b = side.ops->load_matrix(source(format, outputs, columns, second));
                        const std::int64_t width = gated ? outputs : 2 * outputs;
                        const HiddenRows out =
                            side.hidden(std::vector<float>(static_cast<std::size_t>(rows * width)), width);
                        const WeightMatrix* both[] = {a.get(), b.get()};
                        if (gated)
                            side.ops->gated_matmul(side.hidden(x, columns), *a, *b, Activation::Silu, out);
                        else
                            side.ops->matmul(side.hidden(x, columns), both, out);
                        return side.down(out);
                    },
                    4 * product_bound(format));
            }
        }
    }
}

// GPUs multiply so many rows by wide tiles, or dequantize weights to fp16 and multiply by cuBLAS.
TEST_P(OpsMatrixTest, MultipliesAThousandRowsInEveryFormat) {
    constexpr std::int64_t rows = 1030, outputs = 9, columns = 256;
    for (const WeightFormatInfo& entry : kWeightFormats) {
        SCOPED_TRACE(entry.name);
        const auto w = weights(entry.format, outputs, columns);
        const auto x = normals(rows * columns);
        expect_same(
            [&](Side& side) {
                const auto matrix = side.ops->load_matrix(source(entry.format, outputs, columns, w));
                const FloatRows out =
                    side.rows(std::vector<float>(static_cast<std::size_t>(rows * outputs)), outputs);
                side.ops->matmul(side.hidden(x, columns), *matrix, out);
                return side.down(out);
            },
            product_bound(entry.format));
    }
}

// A piece with some of the columns is a matrix with a larger row stride.
TEST_P(OpsMatrixTest, PiecesOfTheColumnsAddUp) {
    const std::int64_t rows = 6, weights_count = 10, columns = 768;
    const auto bytes = weights(WeightFormat::Q5_K, weights_count, columns);
    const auto x = normals(rows * columns);
    expect_same(
        [&](Side& side) {
            std::vector<float> sum(static_cast<std::size_t>(rows * weights_count));
            for (const auto& [begin, end] : {std::pair{0, 256}, std::pair{256, 768}}) {
                MatrixSource piece = source(WeightFormat::Q5_K, weights_count, columns, bytes);
                piece.data += begin / 256 * 176;
                piece.columns = end - begin;
                const auto matrix = side.ops->load_matrix(piece);
                std::vector<float> part;
                for (std::int64_t r = 0; r < rows; ++r)
                    part.insert(part.end(), x.begin() + r * columns + begin, x.begin() + r * columns + end);
                const FloatRows out = side.rows(sum, weights_count);
                side.ops->matmul(side.hidden(part, end - begin), *matrix, out);
                const auto product = side.down(out);
                for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += product[i];
            }
            return sum;
        },
        product_bound(WeightFormat::Q5_K));
}

// CPUs sum in one order for all numbers of rows, so results must be bit-identical: few rows, and so many that
// weights are expanded to panels, the last of which is not full.
TEST(CpuOpsTest, RowsDoNotDependOnEachOther) {
    for (const CpuLevel level : usable_cpu_levels()) {
        for (const WeightFormatInfo& entry : kWeightFormats) {
            const std::int64_t weights_count = 38, most_rows = 65;
            const std::int64_t columns = entry.block_size == 1 ? 1530 : 1536;
            const std::size_t blocks = static_cast<std::size_t>(columns * weights_count) / entry.block_size;
            if (entry.format == WeightFormat::BF16) continue;  // make_blocks() has no BF16
            const auto bytes = random_blocks(entry.format, 7, blocks, 0.03);
            std::vector<float> x(static_cast<std::size_t>(most_rows * columns));
            std::mt19937 random(3);
            for (float& value : x) value = std::normal_distribution<float>()(random);
            const auto product = [&](int threads, std::int64_t first, std::int64_t count) {
                CpuOps ops(std::vector<int>(static_cast<std::size_t>(threads), -1), cpu_kernels(level));
                const auto matrix = ops.load_matrix(
                    {entry.format, weights_count, columns,
                     row_bytes(entry.format, static_cast<std::size_t>(columns)), bytes.data(), false});
                std::vector<float> out(static_cast<std::size_t>(count * weights_count));
                ops.matmul(HiddenRows{x.data() + first * columns, count, columns}, *matrix,
                           FloatRows{out.data(), count, weights_count});
                return out;
            };
            const auto few = product(2, 0, 23), many = product(2, 0, most_rows);
            for (std::int64_t r = 0; r < most_rows; ++r) {
                const auto alone = product(1, r, 1);
                for (const auto* together : {&few, &many}) {
                    if (together == &few && r >= 23) continue;
                    ASSERT_EQ(0, std::memcmp(alone.data(), together->data() + r * weights_count,
                                             alone.size() * sizeof(float)))
                        << name(level) << ", " << entry.name << ", row " << r << " of "
                        << together->size() / static_cast<std::size_t>(weights_count);
                }
            }
        }
    }
}

}  // namespace
}  // namespace voltpile::llm
