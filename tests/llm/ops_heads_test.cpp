// Operations on heads, and attention whose values are its keys, against ReferenceOps.
#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

class OpsHeadsTest : public OpsTest {};
VOLTPILE_FOR_ALL_OPS(OpsHeadsTest);

// Shapes with columns and outputs that are no multiples of a tile, and one head's shape in DeepSeek V2.
TEST_P(OpsHeadsTest, MultipliesEachHeadWithItsMatrix) {
    struct HeadShape {
        std::int64_t heads, inputs, outputs;
    };
    for (const HeadShape shape : {HeadShape{1, 8, 5}, {3, 24, 40}, {4, 128, 512}, {2, 512, 128}})
        for (const std::int64_t rows : {1, 2, 7, 16, 33, 61}) {
            const std::int64_t stride = shape.inputs + 3, to_stride = shape.outputs + 2;
            const std::int64_t columns = 5 + shape.heads * stride, to_columns = 1 + shape.heads * to_stride;
            const auto x = normals(rows * columns);
            const auto w = normals(shape.heads * shape.outputs * shape.inputs,
                                   1 / std::sqrt(static_cast<float>(shape.inputs)));
            std::vector<std::uint16_t> halves(w.size());
            std::ranges::transform(w, halves.begin(), half_from_float);
            std::vector<std::byte> bytes(halves.size() * sizeof(halves[0]));
            std::memcpy(bytes.data(), halves.data(), bytes.size());
            SCOPED_TRACE(testing::Message() << shape.heads << " heads, " << rows << " rows");
            expect_same([&](Side& side) {
                const auto weight = side.ops->load_matrix(
                    source(WeightFormat::F16, shape.heads * shape.outputs, shape.inputs, bytes));
                const HiddenRows out = side.hidden(
                    std::vector<float>(static_cast<std::size_t>(rows * to_columns), 7), to_columns);
                side.ops->matmul_heads(side.hidden(x, columns), {5, stride, shape.inputs}, *weight, out,
                                       {1, to_stride, shape.outputs});
                return side.down(out);
            });
        }
}

TEST_P(OpsHeadsTest, ProductsOfRowsDoNotDependOnOtherRows) {
    const std::int64_t heads = 2, inputs = 48, outputs = 80, rows = 61;
    Side side(GetParam().make());
    const auto matrix = weights(WeightFormat::F16, heads * outputs, inputs);
    const auto weight = side.ops->load_matrix(source(WeightFormat::F16, heads * outputs, inputs, matrix));
    const auto x = normals(rows * heads * inputs);
    const auto products = [&](std::int64_t begin, std::int64_t count) {
        const HiddenRows out = side.hidden(
            std::vector<float>(static_cast<std::size_t>(count * heads * outputs)), heads * outputs);
        side.ops->matmul_heads(
            side.hidden({x.begin() + begin * heads * inputs, x.begin() + (begin + count) * heads * inputs},
                        heads * inputs),
            {0, inputs, inputs}, *weight, out, {0, outputs, outputs});
        return side.down(out);
    };
    const auto all = products(0, rows);
    for (const std::int64_t count : {1, 9}) {
        const auto part = products(20, count);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 20 * heads * outputs)) << count;
    }
}

TEST_P(OpsHeadsTest, CopiesColumnsOfHeads) {
    Side side(GetParam().make());
    const HiddenRows x = side.hidden({0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}, 6);
    const HiddenRows out = side.hidden(std::vector<float>(14, -1), 7);
    side.ops->copy_heads(x, {1, 3, 2}, 2, out, {0, 4, 2});
    EXPECT_EQ(side.down(out), (std::vector<float>{1, 2, -1, -1, 4, 5, -1, 11, 12, -1, -1, 14, 15, -1}));
}

// Two parts of three rows, 24 numbers each, as columns of one row, and back. Widths of 8 take another path on
// GPUs.
TEST_P(OpsHeadsTest, CopiesHeadsThatLieApart) {
    Side side(GetParam().make());
    std::vector<float> numbers(48), joined(48);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<float>(i);
        joined[i % 24 / 8 * 16 + i / 24 * 8 + i % 8] = numbers[i];
    }
    const HiddenRows parts = side.hidden(numbers, 8), one = side.hidden(std::vector<float>(48, -1), 16);
    side.ops->copy_heads({parts.data, 3, 8}, {0, 24, 8}, 2, one, {0, 8, 8});
    EXPECT_EQ(side.down(one), joined);
    const HiddenRows again = side.hidden(std::vector<float>(48, -1), 8);
    side.ops->copy_heads(one, {0, 8, 8}, 2, {again.data, 3, 8}, {0, 24, 8});
    EXPECT_EQ(side.down(again), numbers);
}

// One GPU block for a row and several, and odd counts.
TEST_P(OpsHeadsTest, GathersColumns) {
    for (const int columns : {2, 7, 600, 1025}) {
        Side side(GetParam().make());
        constexpr int rows = 3, extra = 5;  // columns of x that nothing takes
        std::vector<float> numbers, wanted;
        std::vector<std::int32_t> order;
        for (int j = 0; j < columns; ++j) order.push_back(j * 7919 % columns + extra * (j % 3 == 0));
        for (int i = 0; i < rows * (columns + extra); ++i) numbers.push_back(static_cast<float>(i % 2048));
        for (int r = 0; r < rows; ++r)
            for (const std::int32_t column : order)
                wanted.push_back(numbers[static_cast<std::size_t>(r * (columns + extra) + column)]);
        const HiddenRows x = side.hidden(numbers, columns + extra),
                         out = side.hidden(std::vector<float>(wanted.size(), -1), columns);
        side.ops->gather_columns(x, side.up(order), out);
        EXPECT_EQ(side.down(out), wanted) << columns;
    }
}

// Latent attention: one KV head whose values are its keys, with more query heads than a CPU thread takes.
TEST_P(OpsHeadsTest, AttendsToKeysAsValues) {
    for (const KvElement element : {KvElement::F16, KvElement::I8, KvElement::I4, KvElement::F32}) {
        if (element == KvElement::F32 && GetParam().name.starts_with("gpu")) continue;
        constexpr int heads = 20, rope_dims = 8, dim = 40, rows = 19, pages = 2;
        const auto qkv = normals(rows * (heads + 2) * dim);
        std::vector<float> frequencies;
        for (int i = 0; i < rope_dims / 2; ++i) frequencies.push_back(0.3F / static_cast<float>(i + 1));
        Batch batch;
        for (int r = 0; r < rows; ++r) {
            batch.token.push_back(1);
            batch.position.push_back(r);
            batch.sequence.push_back(0);
        }
        batch.row_begin = {0, rows};
        batch.page_table = {1, 0};
        batch.max_pages = pages;
        const CacheData empty = cache_data(element, pages * kv_page_tokens, dim);
        expect_same(
            [&](Side& side) {
                QkvSettings settings;
                settings.heads = heads;
                settings.kv_heads = 1;
                settings.head_dim = dim;
                settings.rope_style = RopeStyle::Interleaved;
                settings.rope_dims = rope_dims;
                settings.rope_frequencies = side.up(frequencies);
                KvLayer cache = empty.up(side);
                cache.values = cache.keys;
                cache.value_scales = cache.key_scales;
                AttentionSettings attention;
                attention.scale = 0.1F;
                const HiddenRows rows_of_qkv = side.hidden(qkv, (heads + 2) * dim);
                const BatchView batch_view = view(side, batch);
                side.ops->rope_and_store(rows_of_qkv, settings, batch_view, cache);
                const HiddenRows out = side.hidden(std::vector<float>(rows * heads * dim), heads * dim);
                side.ops->attention(rows_of_qkv, settings, batch_view, cache, attention, out);
                return side.down(out);
            },
            1e-6);  // numbers between two steps of the cache may be rounded differently
    }
}

}  // namespace
}  // namespace voltpile::llm
