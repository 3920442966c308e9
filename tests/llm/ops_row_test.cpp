#include <algorithm>
#include <limits>

#include "llm/ops/dequantize.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

class OpsRowTest : public OpsTest {};
VOLTPILE_FOR_ALL_OPS(OpsRowTest);

// Of 3,001 and 12,292 columns, threads of GPUs keep a part in registers and load the rest again.
TEST_P(OpsRowTest, AddsInPlaceAndNormalizes) {
    for (const std::int64_t columns : {1, 7, 64, 100, 3001, 4096, 12292}) {
        for (const std::int64_t rows : {1, 2, 31}) {
            const auto x = normals(rows * columns, 3);
            const auto delta = normals(rows * columns);
            const auto weight = normals(columns, 0.2F, 1);
            for (const bool with_delta : {false, true}) {
                for (const bool want_sum : {false, true}) {
                    expect_same([&](Side& side) {
                        const FloatRows sum = side.rows(x, columns);
                        const FloatRows add = with_delta ? side.rows(delta, columns) : FloatRows{};
                        const HiddenRows out = side.hidden(x, columns);
                        side.ops->add_rms_norm(sum, add, side.up(weight), 1e-5F, out, {3, 1});
                        EXPECT_FALSE(side.ops->take_sentinel().tripped);
                        return want_sum ? side.down(sum) : side.down(out);
                    });
                }
            }
        }
    }
}

TEST_P(OpsRowTest, AddsABiasToEachRow) {
    for (const std::int64_t columns : {7, 64, 4096, 12292}) {
        const auto x = normals(3 * columns), delta = normals(3 * columns), bias = normals(columns, 3);
        const auto weight = normals(columns, 0.2F, 1);
        for (const bool normed : {false, true})
            expect_same([&](Side& side) {
                const FloatRows sum = side.rows(x, columns);
                const HiddenRows out = side.hidden(x, columns);
                side.ops->add_rms_norm(sum, {side.rows(delta, columns), side.up(bias)},
                                       normed ? side.up(weight) : nullptr, 1e-5F, out, {3, 1});
                auto all = side.down(sum);
                const auto result = side.down(out);
                all.insert(all.end(), result.begin(), result.end());
                return all;
            });
    }
}

TEST_P(OpsRowTest, AddsWithoutANorm) {
    for (const std::int64_t columns : {7, 64, 4096, 12292}) {
        const auto x = normals(3 * columns), delta = normals(3 * columns);
        for (const bool want_sum : {false, true})
            expect_same([&](Side& side) {
                const FloatRows sum = side.rows(x, columns);
                const HiddenRows out = side.hidden(x, columns);
                side.ops->add_rms_norm(sum, side.rows(delta, columns), nullptr, 1e-5F, out, {3, 1});
                EXPECT_FALSE(side.ops->take_sentinel().tripped);
                return want_sum ? side.down(sum) : side.down(out);
            });
    }
}

TEST_P(OpsRowTest, NormalizesInPlace) {
    for (const std::int64_t columns : {1, 7, 64, 100, 4096}) {
        const auto x = normals(5 * columns, 3), weight = normals(columns, 0.2F, 1);
        expect_same([&](Side& side) {
            const FloatRows rows = side.rows(x, columns);
            side.ops->rms_norm(rows, side.up(weight), 1e-5F, {3, 1});
            EXPECT_FALSE(side.ops->take_sentinel().tripped);
            return side.down(rows);
        });
    }
    Side side(GetParam().make());
    const FloatRows bad = side.rows({1, 2, 3, std::numeric_limits<float>::quiet_NaN()}, 2);
    side.ops->rms_norm(bad, side.up(std::vector<float>(2, 1)), 1e-5F, {4, 2});
    const SentinelReport report = side.ops->take_sentinel();
    EXPECT_TRUE(report.tripped);
    EXPECT_EQ(report.place.layer, 4);
    EXPECT_EQ(report.row, 1);
}

TEST_P(OpsRowTest, CapsSoftly) {
    const auto x = normals(3003, 40);
    for (const float cap : {0.5F, 30.0F, 1000.0F})
        expect_same([&](Side& side) {
            const FloatRows rows = side.rows(x, 1001);
            side.ops->soft_cap(rows, cap);
            return side.down(rows);
        });
}

TEST_P(OpsRowTest, ScalesEmbeddings) {
    const auto table = weights(WeightFormat::Q8_0, 9, 64);
    expect_same([&](Side& side) {
        const auto matrix = side.ops->load_matrix(source(WeightFormat::Q8_0, 9, 64, table));
        BatchView batch;
        batch.rows = 2;
        batch.token = side.up(std::vector<std::int32_t>{8, 3});
        batch.sequence = side.up(std::vector<std::int32_t>{0, 0});
        const FloatRows x = side.rows(std::vector<float>(128), 64);
        side.ops->embed(*matrix, batch, 54.5F, x);
        return side.down(x);
    });
}

TEST_P(OpsRowTest, SentinelReportsTheFirstPlaceAndResets) {
    Side side(GetParam().make());
    const std::int64_t columns = 50;
    auto x = normals(9 * columns);
    const auto weight = normals(columns);
    const HiddenRows out = side.hidden(x, columns);
    x[5 * columns + 49] = std::numeric_limits<float>::infinity();
    const FloatRows bad = side.rows(x, columns);
    x[5 * columns + 49] = 1;
    x[2 * columns] = std::numeric_limits<float>::quiet_NaN();
    const FloatRows worse = side.rows(x, columns);
    side.ops->add_rms_norm(bad, {}, side.up(weight), 1e-5F, out, {7, 2});
    side.ops->add_rms_norm(worse, {}, side.up(weight), 1e-5F, out, {8, 1});
    const SentinelReport report = side.ops->take_sentinel();
    EXPECT_TRUE(report.tripped);
    EXPECT_EQ(report.place.layer, 7);
    EXPECT_EQ(report.place.operation, 2);
    EXPECT_EQ(report.row, 5);
    EXPECT_FALSE(side.ops->take_sentinel().tripped);
}

TEST_P(OpsRowTest, EmbeddingIsBitIdenticalToTheTablesRow) {
    for (const WeightFormatInfo& entry : kWeightFormats) {
        const std::int64_t columns = entry.block_size == 1 ? 77 : 512;
        const auto table = weights(entry.format, 9, columns);
        Side side(GetParam().make());
        const auto matrix = side.ops->load_matrix(source(entry.format, 9, columns, table));
        const std::vector<std::int32_t> token{8, 0, 3, 3, 5}, sequence{0, 0, 1, 2, -1};
        BatchView batch;
        batch.rows = 5;
        batch.token = side.up(token);
        batch.sequence = side.up(sequence);
        const FloatRows x = side.rows(std::vector<float>(static_cast<std::size_t>(5 * columns), 9), columns);
        side.ops->embed(*matrix, batch, 1, x);
        const auto got = side.down(x);
        std::vector<float> wanted(static_cast<std::size_t>(columns));
        for (std::size_t r = 0; r < 5; ++r) {
            const auto bytes = row_bytes(entry.format, static_cast<std::size_t>(columns));
            dequantize_row(entry.format, table.data() + static_cast<std::size_t>(token[r]) * bytes, columns,
                           wanted.data());
            // Implementations with fp16 activations are those of GPUs, which hold some matrices as fp16.
            if (side.ops->hidden_element() == Element::F16 && gpu_format(entry.format) == WeightFormat::F16)
                for (float& value : wanted) value = float_from_half(half_from_float(value));
            if (r == 4) std::fill(wanted.begin(), wanted.end(), 0.0F);
            EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(),
                                   got.begin() + static_cast<std::ptrdiff_t>(r) * columns))
                << entry.name << " row " << r;
        }
    }
}

TEST_P(OpsRowTest, GatheredRowsAreCopies) {
    const std::int64_t columns = 33;
    const auto x = normals(7 * columns);
    Side side(GetParam().make());
    BatchView batch;
    batch.rows = 7;
    batch.logits = 3;
    batch.logit_row = side.up(std::vector<std::int32_t>{1, 4, 6});
    const std::vector<float> nothing(static_cast<std::size_t>(3 * columns));
    const HiddenRows hidden = side.hidden(nothing, columns);
    const FloatRows floats = side.rows(nothing, columns);
    side.ops->gather_rows(side.hidden(x, columns), batch, hidden);
    side.ops->gather_float_rows(side.rows(x, columns), batch, floats);
    std::vector<float> wanted;
    for (const std::int64_t r : {1, 4, 6})
        wanted.insert(wanted.end(), x.begin() + r * columns, x.begin() + (r + 1) * columns);
    EXPECT_EQ(side.down(hidden), wanted);
    EXPECT_EQ(side.down(floats), wanted);
}

// Rows go to the places of their tokens in pages, and come back from any of them.
TEST_P(OpsRowTest, StoresRowsInPagesAndRecallsThem) {
    const std::int64_t columns = 34;
    const auto x = normals(4 * columns), before = normals(columns * 6 * kv_page_tokens);
    Side side(GetParam().make());
    Batch batch;
    batch.token = {0, 0, 0, 0};
    batch.position = {15, 16, 3, 0};
    batch.sequence = {0, 0, 1, -1};  // the last row is empty
    batch.row_begin = {0, 2, 3};
    batch.page_table = {4, 2, 5, 0};
    batch.max_pages = 2;
    batch.hidden_row = {4 * kv_page_tokens + 15, 2 * kv_page_tokens, 5 * kv_page_tokens + 3, 0};
    BatchView rows = view(side, batch);
    rows.hidden_row = side.up(batch.hidden_row);
    const HiddenRows pages = side.hidden(before, columns);
    const FloatRows recalled = side.rows(std::vector<float>(x.size()), columns);
    side.ops->store_rows(side.hidden(x, columns), rows, pages);
    side.ops->recall_rows(pages, rows, recalled);
    std::vector<float> wanted = before;
    for (std::size_t r = 0; r < 3; ++r)
        std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(r) * columns, columns,
                    wanted.begin() + batch.hidden_row[r] * columns);
    EXPECT_EQ(side.down(pages), wanted);
    std::vector<float> of_rows(x.begin(), x.begin() + 3 * columns);
    of_rows.insert(of_rows.end(), before.begin(), before.begin() + columns);
    EXPECT_EQ(side.down(recalled), of_rows);
}

}  // namespace
}  // namespace voltpile::llm
