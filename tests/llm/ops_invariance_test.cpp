// A row's result must not depend by a single bit on the other rows, on their number, or on how its sequence
// is divided into pieces. This holds for CPUs and for GPUs with batch_invariant.
#include <algorithm>
#include <list>

#include "llm/ops_fixture.h"
#include "llm/ops_sequences.h"

namespace voltpile::llm {
namespace {

class OpsInvarianceTest : public OpsTest {
  protected:
    // The rows of x in a product: first to first + count - 1.
    struct Rows {
        std::int64_t first, count;
    };
    using Matrices = std::vector<std::unique_ptr<WeightMatrix>>;

    static std::vector<float> product(Side& side, const Matrices& matrices, bool gated,
                                      const std::vector<float>& x, std::int64_t columns, Rows rows) {
        const std::vector<float> some(x.begin() + rows.first * columns,
                                      x.begin() + (rows.first + rows.count) * columns);
        std::int64_t outputs = 0;
        std::vector<const WeightMatrix*> all;
        for (const auto& matrix : matrices) {
            all.push_back(matrix.get());
            outputs += matrix->rows();
        }
        if (gated) outputs = matrices.front()->rows();
        const HiddenRows out =
            side.hidden(std::vector<float>(static_cast<std::size_t>(rows.count * outputs)), outputs);
        if (gated)
            side.ops->gated_matmul(side.hidden(some, columns), *all[0], *all[1], Activation::Silu, out);
        else
            side.ops->matmul(side.hidden(some, columns), all, out);
        return side.down(out);
    }

    struct Format {
        WeightFormat format;
        std::int64_t rows;
    };
    // Compares each row alone with products of each number of rows in `counts`.
    void check(const std::vector<Format>& formats, bool gated, std::int64_t columns,
               const std::vector<std::int64_t>& counts) {
        const std::int64_t rows = *std::max_element(counts.begin(), counts.end());
        const auto x = normals(rows * columns);
        Side side(GetParam().make());
        Matrices matrices;
        for (const Format& f : formats)
            matrices.push_back(side.ops->load_matrix(
                source(f.format, f.rows, columns, data_.emplace_back(weights(f.format, f.rows, columns)))));
        std::vector<float> alone;
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto row = product(side, matrices, gated, x, columns, {r, 1});
            alone.insert(alone.end(), row.begin(), row.end());
        }
        for (const std::int64_t count : counts) {
            const auto together = product(side, matrices, gated, x, columns, {0, count});
            ASSERT_EQ(0, std::memcmp(together.data(), alone.data(), together.size() * sizeof(float)))
                << count << " rows";
        }
    }

    std::vector<std::int32_t> shuffled(int count) {
        std::vector<std::int32_t> order(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
        std::shuffle(order.begin(), order.end(), random_);
        return order;
    }

    std::list<std::vector<std::byte>> data_;
};
INSTANTIATE_TEST_SUITE_P(Cpu, OpsInvarianceTest, testing::ValuesIn(cpu_ops_makers()),
                         [](const auto& maker) { return maker.param.name; });
INSTANTIATE_TEST_SUITE_P(Gpu, OpsInvarianceTest, testing::Values(gpu_ops_maker(true)),
                         [](const auto& maker) { return maker.param.name; });

// Columns that divide into unequal parts, and more weights than a tile has.
TEST_P(OpsInvarianceTest, SingleProducts) {
    for (const WeightFormatInfo& entry : kWeightFormats) {
        SCOPED_TRACE(entry.name);
        check({{entry.format, 150}}, false, entry.block_size == 1 ? 1483 : 1536,
              {1, 2, 7, 8, 9, 16, 17, 32, 33, 64, 65, 97, 128, 129, 200});
    }
}

TEST_P(OpsInvarianceTest, ProductsOfSeveralMatrices) {
    check({{WeightFormat::Q4_K, 140}, {WeightFormat::Q4_K, 33}, {WeightFormat::Q6_K, 20}}, false, 1280,
          {1, 8, 9, 64, 65, 140});
}

TEST_P(OpsInvarianceTest, GatedProducts) {
    const std::vector<std::int64_t> counts = {1, 8, 9, 20, 64, 65, 140};
    check({{WeightFormat::Q8_0, 150}, {WeightFormat::Q8_0, 150}}, true, 1280, counts);
    check({{WeightFormat::Q4_K, 150}, {WeightFormat::Q6_K, 150}}, true, 1280, counts);
}

// Enough weights to occupy all blocks of a GPU.
TEST_P(OpsInvarianceTest, ProductsThatFillAGpu) {
    if (!GetParam().name.starts_with("gpu")) GTEST_SKIP() << "only GPUs choose so";
    const std::int64_t columns = 1280, weight_rows = 12800, rows = 300;
    const auto bytes = weights(WeightFormat::Q8_0, weight_rows, columns);
    const auto x = normals(rows * columns);
    Side side(GetParam().make());
    Matrices matrices;
    matrices.push_back(side.ops->load_matrix(source(WeightFormat::Q8_0, weight_rows, columns, bytes)));
    const auto together = product(side, matrices, false, x, columns, {0, rows});
    for (std::int64_t first = 0; first < rows; first += 60) {
        const auto some = product(side, matrices, false, x, columns, {first, 60});
        EXPECT_EQ(
            0, std::memcmp(some.data(), together.data() + first * weight_rows, some.size() * sizeof(float)))
            << "row " << first;
    }
}

struct AttentionCase {
    int heads, kv_heads, dim, window;
    KvElement element;
    int cached = 0;
    float soft_cap = 0;
};

// 300 tokens of a sequence after its cached ones, in pieces of many lengths, alone and next to another
// sequence that grows with it. GPUs join results every 128 and 1024 tokens, and process several heads
// together in pieces of up to 32 rows.
TEST_P(OpsInvarianceTest, AttentionOfPieces) {
    constexpr int tokens = 300;
    for (const AttentionCase& c : {AttentionCase{8, 2, 128, 0, KvElement::F16},
                                   {4, 4, 64, 0, KvElement::F16},
                                   {6, 3, 80, 37, KvElement::F16},
                                   {20, 1, 32, 0, KvElement::F16},
                                   {14, 2, 64, 0, KvElement::F16},
                                   {4, 2, 24, 0, KvElement::F16},
                                   {4, 2, 64, 150, KvElement::I8},
                                   {8, 2, 128, 0, KvElement::I8},
                                   {1, 1, 128, 0, KvElement::F16, 950},
                                   {6, 2, 128, 0, KvElement::F16, 1000},
                                   {4, 1, 64, 1100, KvElement::F16, 1900},
                                   {1, 1, 32, 1100, KvElement::I8, 1900},
                                   {8, 2, 128, 0, KvElement::I4},
                                   {6, 3, 80, 37, KvElement::I4},
                                   {4, 2, 24, 0, KvElement::I4},
                                   {1, 1, 64, 1100, KvElement::I4, 1900},
                                   {4, 2, 256, 0, KvElement::F16},
                                   {4, 2, 256, 1100, KvElement::F16, 1900},
                                   {4, 2, 256, 0, KvElement::I8},
                                   {2, 1, 256, 37, KvElement::I4},
                                   {4, 2, 64, 0, KvElement::F16, 0, 2},
                                   {6, 2, 128, 1100, KvElement::F16, 1900, 30},
                                   {4, 2, 128, 0, KvElement::I8, 0, 2},
                                   {4, 2, 256, 150, KvElement::F16, 0, 30}}) {
        SCOPED_TRACE(std::to_string(c.dim) + ", window " + std::to_string(c.window) + ", cap " +
                     std::to_string(c.soft_cap));
        const int pages = pages_for(c.cached + tokens);
        const std::int64_t columns = static_cast<std::int64_t>(c.heads + 2 * c.kv_heads) * c.dim;
        const auto qkv = normals(tokens * columns);
        const CacheData cache = cache_data(c.element, 2 * pages * c.kv_heads * kv_page_tokens, c.dim);
        const std::vector<std::int32_t> order = shuffled(2 * pages);
        Side side(GetParam().make());
        const KvLayer layer = cache.up(side);
        QkvSettings settings;
        settings.heads = c.heads;
        settings.kv_heads = c.kv_heads;
        settings.head_dim = c.dim;
        // Returns the rows of the first sequence, with `other` rows of another one before or after them.
        const auto attend = [&](int before, int now, int other) {
            std::vector<std::pair<int, int>> parts;
            if (other > 0 && before % 2 == 0) parts.emplace_back(1, other);
            parts.emplace_back(0, now);
            if (other > 0 && before % 2 == 1) parts.emplace_back(1, other);
            Batch batch;
            batch.max_pages = pages;
            batch.row_begin = {0};
            std::vector<float> x;
            for (std::size_t s = 0; s < parts.size(); ++s) {
                const auto [sequence, count] = parts[s];
                for (int i = 0; i < count; ++i) {
                    const int at = sequence == 0 ? before + i : 40 + i;
                    batch.token.push_back(0);
                    batch.position.push_back(sequence == 0 ? c.cached + at : at);
                    batch.sequence.push_back(static_cast<std::int32_t>(s));
                    x.insert(x.end(), qkv.begin() + at * columns, qkv.begin() + (at + 1) * columns);
                }
                batch.row_begin.push_back(static_cast<std::int32_t>(batch.token.size()));
                batch.page_table.insert(batch.page_table.end(), order.begin() + sequence * pages,
                                        order.begin() + (sequence + 1) * pages);
            }
            const std::int64_t width = c.heads * c.dim, rows = static_cast<std::int64_t>(batch.token.size());
            const HiddenRows out =
                side.hidden(std::vector<float>(static_cast<std::size_t>(rows * width)), width);
            side.ops->attention(side.hidden(x, columns), settings, view(side, batch), layer,
                                {0.125F, c.window, c.soft_cap}, out);
            const auto all = side.down(out);
            const std::int64_t first = parts.front().first == 0 ? 0 : other;
            return std::vector<float>(all.begin() + first * width, all.begin() + (first + now) * width);
        };
        const auto in_pieces = [&](const std::vector<int>& sizes, int other) {
            std::vector<float> all;
            for (int at = 0, piece = 0; at < tokens; ++piece) {
                const int now = std::min(sizes[static_cast<std::size_t>(piece) % sizes.size()], tokens - at);
                const auto rows = attend(at, now, other);
                all.insert(all.end(), rows.begin(), rows.end());
                at += now;
            }
            return all;
        };
        const auto whole = in_pieces({tokens}, 0);
        struct Cut {
            std::vector<int> sizes;  // of the pieces, repeated
            int other;               // rows of the other sequence
        };
        for (const Cut& cut : {Cut{{1}, 0},
                               {{1}, 1},
                               {{2}, 50},
                               {{64}, 0},
                               {{128}, 1},
                               {{16, 32, 20, 48}, 50},
                               {{100, 1}, 50},
                               {{1, 13, 70, 129, 2}, 50}}) {
            const auto pieces = in_pieces(cut.sizes, cut.other);
            ASSERT_EQ(0, std::memcmp(pieces.data(), whole.data(), whole.size() * sizeof(float)))
                << "pieces of " << cut.sizes[0] << ", beside " << cut.other << " rows";
        }
    }
}

// Alone a GPU divides a sequence among more blocks than beside many others.
TEST_P(OpsInvarianceTest, AttentionBesideManySequences) {
    constexpr int count = 50, heads = 8, kv_heads = 4, dim = 64, columns = (heads + 2 * kv_heads) * dim;
    const auto qkv = normals(count * columns);
    Sequences many;
    for (int i = 0; i < count; ++i) many.before_and_now.emplace_back(i * 23, 1);
    const Batch together = make_batch(many, random_);
    const auto tokens = static_cast<std::int64_t>(together.page_table.size()) * kv_heads * kv_page_tokens;
    QkvSettings settings;
    settings.heads = heads;
    settings.kv_heads = kv_heads;
    settings.head_dim = dim;
    for (const KvElement element : {KvElement::F16, KvElement::I8, KvElement::I4}) {
        Side side(GetParam().make());
        const KvLayer cache = cache_data(element, tokens, dim).up(side);
        const auto attend = [&](const Batch& batch, const float* x) {
            const auto rows = static_cast<std::int64_t>(batch.token.size());
            const HiddenRows out =
                side.hidden(std::vector<float>(static_cast<std::size_t>(rows * heads * dim)), heads * dim);
            side.ops->attention(side.hidden({x, x + rows * columns}, columns), settings, view(side, batch),
                                cache, {0.125F}, out);
            return side.down(out);
        };
        const auto all = attend(together, qkv.data());
        for (int i = 0; i < count; i += 7) {
            Batch alone;
            alone.max_pages = together.max_pages;
            alone.token = {0};
            alone.position = {together.position[static_cast<std::size_t>(i)]};
            alone.sequence = {0};
            alone.row_begin = {0, 1};
            const auto first = together.page_table.begin() + i * together.max_pages;
            alone.page_table.assign(first, first + together.max_pages);
            const auto one = attend(alone, qkv.data() + i * columns);
            EXPECT_EQ(0, std::memcmp(one.data(), all.data() + i * heads * dim, one.size() * sizeof(float)))
                << "sequence " << i;
        }
    }
}

}  // namespace
}  // namespace voltpile::llm
