// Products of so many rows that GPUs of compute capability 9.0 multiply them as integers, in tiles of 192
// rows of weights, 128 rows of x and steps of 128 columns, if results are fp16. Other implementations run the
// same tests.
#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

class OpsIntegerTilesTest : public OpsTest {
  protected:
    static constexpr std::int64_t outputs = 200;

    // Q8_0 in which 8-bit integers with one scale for each 128 columns lose nothing.
    std::vector<std::byte> integers(std::int64_t rows, std::int64_t columns) {
        const auto blocks = static_cast<std::size_t>(rows * columns / 32);
        std::vector<std::byte> bytes(blocks * block_bytes(WeightFormat::Q8_0));
        std::uniform_int_distribution<int> each(-127, 127);
        for (std::size_t b = 0; b < blocks; ++b) {
            std::byte* block = bytes.data() + b * block_bytes(WeightFormat::Q8_0);
            put_half(block,
                     0x1p-8 * static_cast<double>(1 + b % static_cast<std::size_t>(columns / 32) / 4 % 3));
            for (std::size_t i = 2; i < 34; ++i) block[i] = static_cast<std::byte>(each(random_));
            block[2 + b % 32] = static_cast<std::byte>(b % 2 == 0 ? 127 : -127);
        }
        return bytes;
    }
    // fp16 results.
    static std::vector<float> product(Side& side, const WeightMatrix& matrix, const std::vector<float>& x,
                                      std::int64_t rows, std::int64_t columns) {
        const WeightMatrix* const one[] = {&matrix};
        const HiddenRows out =
            side.hidden(std::vector<float>(static_cast<std::size_t>(rows * outputs)), outputs);
        side.ops->matmul(side.hidden(x, columns), one, out);
        return side.down(out);
    }
    void expect_products(std::int64_t rows, std::int64_t columns, const std::vector<std::byte>& w,
                         const std::vector<float>& x, double fp16_bound, double fp32_bound = 1e-11) {
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns");
        const auto body = [&](Side& side) {
            const auto matrix = side.ops->load_matrix(source(WeightFormat::Q8_0, outputs, columns, w));
            return product(side, *matrix, x, rows, columns);
        };
        expect_same(body, fp32_bound, fp16_bound);
    }
};
VOLTPILE_FOR_ALL_OPS(OpsIntegerTilesTest);

// The largest magnitude is 127 in each 32 columns, so rounding to 8 bits changes nothing. What remains on the
// GPU is the rounding of results to fp16, by 2^-12 on average, squared 6e-8; the errors of sums to which 1.5
// * 2^23 times a scale is added and taken away are less.
TEST_P(OpsIntegerTilesTest, MultipliesIntegersExactly) {
    for (const std::int64_t columns : {128, 576, 1280}) {
        const auto w = integers(outputs, columns);
        for (const std::int64_t rows : {641, 768, 1100, 2200}) {
            std::uniform_int_distribution<int> each(-127, 127);
            std::vector<float> x(static_cast<std::size_t>(rows * columns));
            for (float& value : x) value = static_cast<float>(each(random_));
            for (std::size_t i = 0; i < x.size(); i += 32) x[i + i / 32 % 32] = i % 64 == 0 ? 127 : -127;
            expect_products(rows, columns, w, x, 2e-7);
        }
    }
}

TEST_P(OpsIntegerTilesTest, SumsOfTheLargestIntegersDoNotOverflow) {
    constexpr std::int64_t columns = 256, rows = 650;
    auto w = integers(outputs, columns);
    for (std::size_t block = 0; block < w.size(); block += block_bytes(WeightFormat::Q8_0))
        std::fill_n(w.begin() + static_cast<std::ptrdiff_t>(block) + 2, 32, std::byte{0x81});
    for (const float value : {127.0F, -127.0F})
        expect_products(rows, columns, w, std::vector<float>(static_cast<std::size_t>(rows * columns), value),
                        2e-7);
}

// Groups of zeros, and of numbers much smaller than others of the row or of other rows, each row for itself:
// one of zeros, one of equal small numbers, and one without the group in which all others are large.
TEST_P(OpsIntegerTilesTest, ScalesOfGroupsDiffer) {
    constexpr std::int64_t columns = 1024, rows = 700;
    const auto w = integers(outputs, columns);
    auto x = normals(rows * columns);
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
            float& value = x[static_cast<std::size_t>(r * columns + c)];
            const std::int64_t group = c / 128;
            const float large = r == 11 ? 0 : 300;
            if (r == 3 || group == 1)
                value = 0;
            else if (r == 7)
                value = 0x1p-10F;
            else
                value = float_from_half(half_from_float(value * (group == 2   ? large
                                                                 : group == 4 ? 1e-2F
                                                                              : 1)));
        }
    }
    const auto product_by = [&](std::unique_ptr<Ops> ops) {
        Side side(std::move(ops));
        const auto matrix = side.ops->load_matrix(source(WeightFormat::Q8_0, outputs, columns, w));
        return product(side, *matrix, x, rows, columns);
    };
    const auto got = product_by(GetParam().make()), wanted = product_by(std::make_unique<ReferenceOps>());
    const auto row_of = [](const std::vector<float>& all, std::int64_t r) {
        return std::vector<float>(all.begin() + r * outputs, all.begin() + (r + 1) * outputs);
    };
    for (std::int64_t r = 0; r < rows; ++r) {
        if (r == 3)
            EXPECT_EQ(row_of(got, r), std::vector<float>(outputs, 0.0F));
        else
            EXPECT_LT(
                nmse(row_of(got, r), row_of(wanted, r)),
                std::max(product_bound(WeightFormat::Q8_0), gpu_product_bound(WeightFormat::Q8_0, rows)))
                << "row " << r;
    }
}

// Blocks of a step with small integers and different scales, as 4-bit formats of folders give, and the
// integer -128 with a negative scale.
TEST_P(OpsIntegerTilesTest, SmallAndExtremeIntegersKeepTheirAccuracy) {
    constexpr std::int64_t columns = 512, rows = 641;
    const auto x = normals(rows * columns);
    auto small = integers(outputs, columns), extreme = integers(outputs, columns);
    constexpr std::size_t block = block_bytes(WeightFormat::Q8_0);
    for (std::size_t at = 0; at < small.size(); at += block) {
        put_half(&small[at], 0x1p-8 * (1 + 0.37 * static_cast<double>(at / block % 5)));
        for (std::size_t i = 2; i < block; ++i)
            small[at + i] = static_cast<std::byte>(static_cast<std::int8_t>(small[at + i]) / 9);
        put_half(&extreme[at], at / block % 2 == 0 ? 0x1p-8 : -0x1p-8);
        extreme[at + 5] = std::byte{0x80};
    }
    for (const auto& w : {small, extreme})
        expect_products(rows, columns, w, x, gpu_product_bound(WeightFormat::Q8_0, rows),
                        product_bound(WeightFormat::Q8_0));
}

TEST_P(OpsIntegerTilesTest, KeepWhatIsNotFinite) {
    constexpr std::int64_t columns = 384, rows = 645;
    const auto w = weights(WeightFormat::Q8_0, outputs, columns);
    for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
        for (const std::int64_t column : {5, 200, 383}) {
            std::vector<float> x(static_cast<std::size_t>(rows * columns), 0.5F);
            x[static_cast<std::size_t>(columns + column)] = bad;
            Side side(GetParam().make());
            const auto matrix = side.ops->load_matrix(source(WeightFormat::Q8_0, outputs, columns, w));
            const auto out = product(side, *matrix, x, rows, columns);
            for (std::int64_t i = 0; i < rows * outputs; ++i)
                ASSERT_EQ(i / outputs != 1, std::isfinite(out[static_cast<std::size_t>(i)]))
                    << "column " << column << ", row " << i / outputs;
        }
    }
}

// What is added to the residual stream, and logits.
TEST_P(OpsIntegerTilesTest, DoesNotRoundForFloatResults) {
    constexpr std::int64_t columns = 1024, rows = 700;
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

// A weight that is not finite reaches all rows of x, and no other weights.
TEST_P(OpsIntegerTilesTest, KeepWeightsThatAreNotFinite) {
    constexpr std::int64_t columns = 384, rows = 645;
    auto w = weights(WeightFormat::Q8_0, outputs, columns);
    put_half(w.data() + (17 * columns / 32 + 5) * static_cast<std::int64_t>(block_bytes(WeightFormat::Q8_0)),
             std::nan(""));
    const std::vector<float> x(static_cast<std::size_t>(rows * columns), 0.5F);
    Side side(GetParam().make());
    const auto matrix = side.ops->load_matrix(source(WeightFormat::Q8_0, outputs, columns, w));
    const auto out = product(side, *matrix, x, rows, columns);
    for (std::int64_t i = 0; i < rows * outputs; ++i)
        ASSERT_EQ(i % outputs != 17, std::isfinite(out[static_cast<std::size_t>(i)])) << i;
}

// Matrices beside each other end within tiles, in all formats.
TEST_P(OpsIntegerTilesTest, ManyMatricesAndGates) {
    constexpr std::int64_t columns = 768, rows = 800;
    constexpr std::int64_t widths[] = {264, 40, 45};
    for (const WeightFormatInfo& entry : kWeightFormats) {
        const WeightFormat format = entry.format;
        if (gpu_format(format) == WeightFormat::F16) continue;
        SCOPED_TRACE(entry.name);
        const auto x = normals(rows * columns);
        std::vector<std::vector<std::byte>> bytes;
        for (const std::int64_t width : widths) bytes.push_back(weights(format, width, columns));
        expect_same(
            [&](Side& side) {
                std::vector<std::unique_ptr<WeightMatrix>> matrices;
                std::vector<const WeightMatrix*> all;
                for (std::size_t m = 0; m < bytes.size(); ++m) {
                    matrices.push_back(side.ops->load_matrix(source(format, widths[m], columns, bytes[m])));
                    all.push_back(matrices.back().get());
                }
                const HiddenRows out =
                    side.hidden(std::vector<float>(static_cast<std::size_t>(rows * 349)), 349);
                side.ops->matmul(side.hidden(x, columns), all, out);
                return side.down(out);
            },
            product_bound(format), gpu_product_bound(format, rows));
        const auto gate = weights(format, outputs, columns), up = weights(format, outputs, columns);
        expect_same(
            [&](Side& side) {
                const auto g = side.ops->load_matrix(source(format, outputs, columns, gate));
                const auto u = side.ops->load_matrix(source(format, outputs, columns, up));
                const HiddenRows out =
                    side.hidden(std::vector<float>(static_cast<std::size_t>(rows * outputs)), outputs);
                side.ops->gated_matmul(side.hidden(x, columns), *g, *u, Activation::Silu, out);
                return side.down(out);
            },
            4 * product_bound(format), gpu_product_bound(format, rows, true));
    }
}

#if VOLTPILE_CUDA
struct Errors : OpsTest {
    using OpsTest::nmse;
};

// With scratch memory for the sums of workers and little more, tiles and rows come in parts, and workers sum
// others.
TEST(OpsIntegerTilesGpuTest, ComputesInParts) {
    if (device_count() == 0 || current_compute_capability() != 90) GTEST_SKIP() << "no GPU of the kind";
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
    const auto results = [&](std::size_t scratch_bytes) {
        CudaOpsSettings settings;
        settings.scratch_bytes = scratch_bytes;
        Side side(make_cuda_ops(0, settings));
        std::vector<std::unique_ptr<WeightMatrix>> matrices;
        std::vector<const WeightMatrix*> all;
        for (std::size_t m = 0; m < bytes.size(); ++m) {
            matrices.push_back(
                side.ops->load_matrix({WeightFormat::Q5_K, widths[m], columns,
                                       row_bytes(WeightFormat::Q5_K, columns), bytes[m].data(), false}));
            all.push_back(matrices.back().get());
        }
        const HiddenRows in = side.hidden(x, columns),
                         joined = side.hidden(std::vector<float>(rows * 5012), 5012),
                         gated = side.hidden(std::vector<float>(rows * 1000), 1000);
        side.ops->matmul(in, all, joined);
        side.ops->gated_matmul(in, *all[1], *all[1], Activation::Silu, gated);
        auto values = side.down(joined);
        const auto more = side.down(gated);
        values.insert(values.end(), more.begin(), more.end());
        return values;
    };
    const std::size_t sums =
        2 * sizeof(float) * 192 * 128 * static_cast<std::size_t>(device_info(0).multiprocessors);
    const auto whole = results(gpu_scratch_bytes);
    for (const std::size_t more : {1 << 20, 4 << 20})
        EXPECT_LT(Errors::nmse(results(sums + more), whole), 1e-6) << more;
}
#endif

}  // namespace
}  // namespace voltpile::llm
