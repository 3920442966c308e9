#include <algorithm>
#include <limits>

#include "llm/ops_fixture.h"
#include "llm/ops_sequences.h"

namespace voltpile::llm {
namespace {

class OpsAttentionTest : public OpsTest {
  protected:
    struct Heads {
        int heads, kv_heads, dim;
    };

    void check_attention(const Sequences& sequences, const Heads& h, int window, int gap = 0,
                         KvElement element = KvElement::F16, float soft_cap = 0,
                         const std::vector<float>& sinks = {}) {
        const Batch batch = make_batch(sequences, random_);
        const std::int64_t pages = std::ranges::max(batch.page_table) + 1;
        const auto rows = static_cast<std::int64_t>(batch.token.size());
        const std::int64_t columns = static_cast<std::int64_t>(h.heads + 2 * h.kv_heads) * h.dim;
        const auto qkv = normals(rows * columns);
        const CacheData cache = cache_data(element, pages * h.kv_heads * kv_page_tokens, h.dim);
        expect_same([&](Side& side) {
            QkvSettings settings;
            settings.heads = h.heads;
            settings.kv_heads = h.kv_heads;
            settings.head_dim = h.dim;
            const std::int64_t stride = h.heads * h.dim + gap;
            const HiddenRows out =
                side.hidden(std::vector<float>(static_cast<std::size_t>(rows * stride), 0.25F), stride);
            side.ops->attention(side.hidden(qkv, columns), settings, view(side, batch), cache.up(side),
                                {1 / std::sqrt(static_cast<float>(h.dim)), window, soft_cap,
                                 sinks.empty() ? nullptr : side.up(sinks)},
                                out);
            return side.down(out);
        });
    }
};
VOLTPILE_FOR_ALL_OPS(OpsAttentionTest);

TEST_P(OpsAttentionTest, AttendsWithASingleToken) {
    check_attention({{{0, 1}}}, {4, 2, 64}, 0);
    check_attention({{{15, 1}}}, {4, 2, 64}, 0);
    check_attention({{{16, 1}}}, {4, 2, 64}, 0);
    check_attention({{{700, 1}}}, {4, 2, 64}, 0);
}

TEST_P(OpsAttentionTest, MixesPromptPiecesAndSingleTokens) {
    check_attention({{{0, 37}, {100, 1}, {33, 21}, {0, 1}, {255, 1}}, 3}, {8, 2, 64}, 0);
}

TEST_P(OpsAttentionTest, SupportsGroupedHeads) {
    for (const auto& [heads, kv_heads] : {std::pair{3, 3}, {6, 3}, {7, 1}, {16, 2}, {32, 4}})
        check_attention({{{40, 1}, {3, 5}}}, {heads, kv_heads, 32}, 0);
    // Pieces for which a GPU tile takes several heads, two, and one.
    for (const auto& [heads, kv_heads] : {std::pair{3, 1}, {14, 2}, {8, 1}})
        check_attention({{{40, 16}, {3, 1}, {130, 31}, {0, 80}}, 2}, {heads, kv_heads, 32}, 0);
}

TEST_P(OpsAttentionTest, SupportsManyHeadDimensions) {
    for (const int dim : {16, 24, 64, 80, 96, 128, 256})
        check_attention({{{20, 1}, {0, 18}}}, {4, 2, dim}, 0);
}

TEST_P(OpsAttentionTest, LimitsContextToTheWindow) {
    for (const int window : {1, 5, 16, 33, 1000})
        check_attention({{{70, 1}, {0, 50}, {20, 9}}}, {4, 2, 64}, window);
}

// GPUs join partial results of 512 tokens and more.
TEST_P(OpsAttentionTest, JoinsLongContexts) {
    for (const int dim : {64, 80, 128})
        for (const int window : {0, 1100})
            check_attention({{{1500, 1}, {1000, 70}, {2047, 1}, {0, 30}, {2100, 9}}, 1}, {4, 2, dim}, window);
}

// Sequences enough for GPU blocks that work on a thousand tokens each, with and without a prompt beside them.
TEST_P(OpsAttentionTest, AttendsForManySequences) {
    Sequences many{{}, 3};
    for (int i = 0; i < 50; ++i) many.before_and_now.emplace_back(i % 10 == 9 ? 2200 : i * 23, 1);
    for (const KvElement element : {KvElement::F16, KvElement::I8, KvElement::I4})
        check_attention(many, {4, 4, 32}, 0, 0, element);
    check_attention(many, {4, 4, 80}, 1050);
    many.before_and_now.emplace_back(100, 40);
    check_attention(many, {4, 4, 32}, 0);
}

// More sequences and longer prompts than one GPU block takes; groups that do not divide a block's rows.
TEST_P(OpsAttentionTest, DividesPromptsAmongBlocks) {
    std::vector<std::pair<int, int>> many;
    for (int i = 0; i < 40; ++i) many.emplace_back(3 * i, i % 5 == 0 ? 1 : i + 1);
    for (const int dim : {64, 128}) {
        check_attention({many, 2}, {8, 2, dim}, 0);
        check_attention({{{0, 300}, {130, 200}}}, {7, 1, dim}, 0);
        check_attention({{{0, 300}, {130, 200}}}, {3, 3, dim}, 150);
    }
}

// Pages may hold the keys and values of another sequence's end, or of an overflow, behind a sequence's
// tokens.
TEST_P(OpsAttentionTest, IgnoresTheCacheBehindASequence) {
    constexpr int tokens = 137, heads = 4, kv_heads = 2;
    for (const int dim : {64, 80, 128}) {
        const Batch batch = make_batch({{{100, tokens - 100}}}, random_);
        const std::int64_t columns = (heads + 2 * kv_heads) * dim;
        const auto rows = static_cast<std::int64_t>(batch.token.size());
        const auto qkv = normals(rows * columns);
        const auto pages = static_cast<std::int64_t>(batch.page_table.size());
        const CacheData clean = cache_data(KvElement::F16, pages * kv_heads * kv_page_tokens, dim);
        CacheData stale = clean;
        const auto last_page = static_cast<std::size_t>(batch.page_table.back());
        for (std::size_t head = 0; head < kv_heads; ++head) {
            const std::size_t page = (last_page * kv_heads + head) * kv_page_tokens;
            const auto from = static_cast<std::ptrdiff_t>((page + tokens % kv_page_tokens) * dim),
                       to = static_cast<std::ptrdiff_t>((page + kv_page_tokens) * dim);
            const auto nan = half_from_float(std::numeric_limits<float>::quiet_NaN());
            std::fill(stale.keys.begin() + from, stale.keys.begin() + to, nan);
            std::fill(stale.values.begin() + from, stale.values.begin() + to, nan);
        }
        Side side(GetParam().make());
        QkvSettings settings;
        settings.heads = heads;
        settings.kv_heads = kv_heads;
        settings.head_dim = dim;
        const auto attend = [&](const CacheData& cache) {
            const HiddenRows out =
                side.hidden(std::vector<float>(static_cast<std::size_t>(rows * heads * dim)), heads * dim);
            side.ops->attention(side.hidden(qkv, columns), settings, view(side, batch), cache.up(side),
                                {0.125F}, out);
            return side.down(out);
        };
        EXPECT_EQ(attend(clean), attend(stale)) << dim;
    }
}

TEST_P(OpsAttentionTest, CapsScores) {
    for (const int dim : {16, 64, 128, 256})
        for (const float cap : {0.25F, 2.0F, 50.0F})
            check_attention({{{20, 1}, {0, 18}, {300, 1}, {1500, 9}}, 1}, {8, 2, dim}, 0, 0, KvElement::F16,
                            cap);
    for (const KvElement element : {KvElement::I8, KvElement::I4})
        check_attention({{{70, 1}, {0, 50}, {20, 9}}}, {4, 2, 128}, 33, 32, element, 2.0F);
}

// Sinks below, among and far above the scores: the largest takes nearly all of the softmax.
TEST_P(OpsAttentionTest, GivesPartOfTheSoftmaxToSinks) {
    const std::vector<float> sinks = {-300, -2, 0, 1, 2.5F, 4, 6, 9};
    for (const int dim : {16, 64, 128, 256})
        check_attention({{{20, 1}, {0, 18}, {300, 1}, {1500, 9}, {2047, 1}, {0, 1}}, 1}, {8, 2, dim}, 0, 0,
                        KvElement::F16, 0, sinks);
    for (const KvElement element : {KvElement::I8, KvElement::I4})
        for (const int window : {1, 33, 1100})
            check_attention({{{1500, 1}, {1000, 70}, {0, 50}}, 2}, {8, 1, 64}, window, 0, element, 0, sinks);
    check_attention({{{70, 1}, {0, 50}}}, {8, 4, 64}, 33, 32, KvElement::F16, 2, sinks);
}

// A token with the score 0 and the value 1, and sinks of the scores 0 and ln 3: 1/2 and 1/4 remain.
TEST_P(OpsAttentionTest, SinksCountAsTokensWithTheValueZero) {
    const int dim = 16;
    const Batch batch = make_batch({{{0, 1}}}, random_);
    CacheData data;
    data.keys.resize(kv_page_tokens * dim);
    data.values.resize(kv_page_tokens * dim, half_from_float(1));
    QkvSettings settings;
    settings.heads = 2;
    settings.kv_heads = 1;
    settings.head_dim = dim;
    Side side(GetParam().make());
    const HiddenRows out = side.hidden(std::vector<float>(2 * dim), 2 * dim);
    const std::vector<float> ones(4 * dim, 1);
    side.ops->attention(side.hidden(ones, 4 * dim), settings, view(side, batch), data.up(side),
                        {1, 0, 0, side.up(std::vector<float>{0, std::log(3.0F)})}, out);
    const auto got = side.down(out);
    for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], i < dim ? 0.5F : 0.25F, 2e-4F) << i;  // fp16 has 2^-12
}

TEST_P(OpsAttentionTest, KeepsColumnsBeyondTheHeads) {
    check_attention({{{20, 1}, {0, 18}}, 2}, {4, 2, 64}, 0, 32);
}

TEST_P(OpsAttentionTest, ReadsQuantizedCaches) {
    for (const KvElement element : {KvElement::I8, KvElement::I4}) {
        for (const int dim : {16, 24, 32, 64, 80, 96, 112, 128, 192, 256})
            check_attention({{{20, 1}, {0, 18}, {300, 1}, {90, 200}}, 1}, {8, 2, dim}, 0, 0, element);
        check_attention({{{270, 1}, {0, 50}, {20, 9}}}, {4, 2, 64}, 33, 0, element);
        for (const int dim : {64, 128})
            check_attention({{{1500, 1}, {1000, 70}, {2047, 1}, {0, 30}, {2100, 9}}, 1}, {4, 2, dim}, 1100, 0,
                            element);
        check_attention({{{0, 1}}}, {2, 1, 576}, 0, 0, element);
    }
}

// A sequence's only token has all of the softmax, so the result is its value: codes 0 to 15, in other orders
// for each group, times 0.5, 2 and 0.25, plus -3, 100 and 0.
TEST_P(OpsAttentionTest, Int4NumbersAreCodesTimesTheScalePlusTheLeast) {
    const std::size_t dim = 80;
    const std::vector<float> scales = {0.5F, 2, 0.25F}, least = {-3, 100, 0};
    const std::vector<std::size_t> steps = {1, 3, 7};
    CacheData data;
    data.element = KvElement::I4;
    data.key_codes.resize(kv_page_tokens * 48);
    data.key_group_scales.resize(kv_page_tokens * 6);
    data.value_codes = data.key_codes;
    data.value_group_scales = data.key_group_scales;
    std::vector<float> wanted;
    for (std::size_t i = 0; i < dim; ++i) {
        const std::size_t group = i / 32, code = i * steps[group] % 16;
        data.value_codes[16 * group + i % 16] |= static_cast<std::uint8_t>(code << (i % 32 < 16 ? 0 : 4));
        wanted.push_back(static_cast<float>(code) * scales[group] + least[group]);
    }
    for (std::size_t group = 0; group < 3; ++group) {
        data.value_group_scales[2 * group] = half_from_float(scales[group]);
        data.value_group_scales[2 * group + 1] = half_from_float(least[group]);
    }
    QkvSettings settings;
    settings.heads = settings.kv_heads = 1;
    settings.head_dim = dim;
    Side side(GetParam().make());
    const HiddenRows out = side.hidden(std::vector<float>(dim), dim);
    side.ops->attention(side.hidden(std::vector<float>(3 * dim, 1), 3 * dim), settings,
                        view(side, make_batch({{{0, 1}}}, random_)), data.up(side), {1}, out);
    EXPECT_EQ(side.down(out), wanted);
}

struct RopeCase {
    RopeStyle style;
    int dim, rope_dims;
    bool bias, norm;
    float magnitude;
    bool row_norm = false;  // of all heads together
};

TEST_P(OpsAttentionTest, SumsSquaresOfQueriesAndKeys) {
    for (const auto& [heads, kv_heads, dim] : {Heads{1, 1, 16}, {6, 2, 24}, {40, 8, 128}}) {
        const std::int64_t columns = static_cast<std::int64_t>(heads + 2 * kv_heads) * dim;
        const auto qkv = normals(5 * columns);
        expect_same([&](Side& side) {
            QkvSettings settings;
            settings.heads = heads;
            settings.kv_heads = kv_heads;
            settings.head_dim = dim;
            const FloatRows sums = side.rows(std::vector<float>(10), 2);
            side.ops->sum_squares(side.hidden(qkv, columns), settings, sums);
            return side.down(sums);
        });
    }
}

TEST_P(OpsAttentionTest, RotatesAndStores) {
    const std::vector<RopeCase> cases = {{RopeStyle::HalfSplit, 64, 64, false, false, 1},
                                         {RopeStyle::Interleaved, 64, 64, false, false, 1},
                                         {RopeStyle::HalfSplit, 128, 128, true, false, 1},
                                         {RopeStyle::HalfSplit, 128, 128, false, true, 1},
                                         {RopeStyle::Interleaved, 80, 32, true, true, 1.25F},
                                         {RopeStyle::HalfSplit, 24, 12, true, true, 0.75F},
                                         {RopeStyle::HalfSplit, 16, 0, false, false, 1},
                                         {RopeStyle::HalfSplit, 32, 32, false, true, 1, true}};
    const int heads = 6, kv_heads = 2;
    const Sequences sequences{{{0, 19}, {5000, 1}, {30, 4}}, 2};
    for (const RopeCase& c : cases) {
        const Batch batch = make_batch(sequences, random_);
        const auto rows = static_cast<std::int64_t>(batch.token.size());
        const std::int64_t columns = static_cast<std::int64_t>(heads + 2 * kv_heads) * c.dim;
        auto qkv = normals(rows * columns);
        const std::size_t tokens = batch.page_table.size() * kv_heads * kv_page_tokens;
        const auto q_bias = normals(heads * c.dim), k_bias = normals(kv_heads * c.dim),
                   v_bias = normals(kv_heads * c.dim),
                   q_norm = normals(c.row_norm ? heads * c.dim : c.dim, 0.1F, 1),
                   k_norm = normals(c.row_norm ? kv_heads * c.dim : c.dim, 0.1F, 1);
        // The sums of squares of as many heads as on two ranks.
        std::vector<float> row_squares = normals(2 * rows, 10, 2.0F * static_cast<float>(heads * c.dim));
        std::vector<float> frequencies;
        for (int i = 0; i < c.rope_dims / 2; ++i)
            frequencies.push_back(
                std::pow(10000.0F, -2 * static_cast<float>(i) / static_cast<float>(c.rope_dims)));
        const auto run = [&](Side& side, bool want_cache, KvElement element = KvElement::F16) {
            QkvSettings s;
            s.heads = heads;
            s.kv_heads = kv_heads;
            s.head_dim = c.dim;
            if (c.bias) s.q_bias = side.up(q_bias), s.k_bias = side.up(k_bias), s.v_bias = side.up(v_bias);
            if (c.norm) s.q_norm = side.up(q_norm), s.k_norm = side.up(k_norm);
            s.norm_eps = 1e-6F;
            if (c.row_norm) {
                s.row_squares = side.up(row_squares);
                s.norm_heads = 2 * heads;
                s.norm_kv_heads = 2 * kv_heads;
            }
            s.rope_style = c.style;
            s.rope_dims = c.rope_dims;
            s.rope_frequencies = side.up(frequencies);
            s.rope_magnitude = c.magnitude;
            const auto dim = static_cast<std::size_t>(c.dim);
            const KvLayer cache = side.empty_cache(element, tokens, dim);
            const HiddenRows x = side.hidden(qkv, columns);
            side.ops->rope_and_store(x, s, view(side, batch), cache);
            std::vector<float> result;
            if (want_cache) {
                for (const bool keys : {true, false}) {
                    const auto stored =
                        side.down_cached(element, keys ? cache.keys : cache.values,
                                         keys ? cache.key_scales : cache.value_scales, tokens, dim);
                    result.insert(result.end(), stored.begin(), stored.end());
                }
                return result;
            }
            // Only the queries: the keys and values in x are unspecified afterwards.
            const auto all = side.down(x);
            for (std::int64_t r = 0; r < rows - sequences.empty_rows; ++r)
                result.insert(result.end(), all.begin() + r * columns,
                              all.begin() + r * columns + heads * c.dim);
            return result;
        };
        expect_same([&](Side& side) { return run(side, false); });
        // A difference in the last bit of fp32 changes the rounding to fp16 of one or two numbers in
        // thousands.
        expect_same([&](Side& side) { return run(side, true); }, 1e-8);
        // A step of int8 is 1 / 127 of a head's largest number. Of some 10,000 numbers, one or two are so
        // close to a tie that the last bit of fp32 decides; each contributes 6e-8.
        expect_same([&](Side& side) { return run(side, true, KvElement::I8); }, 1e-6);
        // A step of int4 is 1 / 15 of a group's range of about 4, and the last bit of fp32 decides about no
        // more than a few of at least 1,500 numbers; each contributes up to 0.075 / 1,500 = 5e-5.
        expect_same([&](Side& side) { return run(side, true, KvElement::I4); }, 2e-4, 2e-4);
    }
}

// One token of each sequence, in one split of the context, in several and in many, also behind a window and
// with more heads than a tile has, and of more sequences than GPU blocks run at once.
TEST_P(OpsAttentionTest, PreparesHeadsAndAttends) {
    struct Case {
        Heads h;
        int rope_dims, window;
        bool bias, norm;
        KvElement element = KvElement::F16;
    };
    for (const Case& c : {Case{{4, 2, 64}, 64, 0, false, false},
                          {{6, 1, 128}, 128, 0, false, true},
                          {{40, 2, 64}, 64, 0, true, false},
                          {{6, 2, 80}, 32, 300, true, true},
                          {{4, 2, 128}, 128, 100, false, true},
                          {{4, 2, 64}, 64, 0, false, true, KvElement::I8},
                          {{4, 2, 24}, 24, 0, false, true}}) {
        for (const Sequences& sequences : {Sequences{{{0, 1}}},
                                           {{{127, 1}, {0, 1}, {128, 1}, {700, 1}}, 2},
                                           {{{2500, 1}, {15, 1}}},
                                           {{{3, 2}, {200, 1}}},
                                           {std::vector<std::pair<int, int>>(100, {150, 1})},
                                           {std::vector<std::pair<int, int>>(50, {1050, 1})}}) {
            // Blocks that work on a thousand tokens each, two of a sequence: one case suffices.
            if (sequences.before_and_now.size() == 50 && (c.h.dim != 64 || c.bias || c.norm)) continue;
            const Batch batch = make_batch(sequences, random_);
            const auto rows = static_cast<std::int64_t>(batch.token.size());
            const Heads& h = c.h;
            const std::int64_t columns = static_cast<std::int64_t>(h.heads + 2 * h.kv_heads) * h.dim;
            const std::int64_t tokens =
                static_cast<std::int64_t>(batch.page_table.size()) * h.kv_heads * kv_page_tokens;
            const auto qkv = normals(rows * columns), q_bias = normals(h.heads * h.dim),
                       k_bias = normals(h.kv_heads * h.dim), v_bias = normals(h.kv_heads * h.dim),
                       q_norm = normals(h.dim, 0.1F, 1), k_norm = normals(h.dim, 0.1F, 1);
            const CacheData data = cache_data(c.element, tokens, h.dim);
            std::vector<float> frequencies;
            for (int i = 0; i < c.rope_dims / 2; ++i)
                frequencies.push_back(
                    std::pow(10000.0F, -2 * static_cast<float>(i) / static_cast<float>(c.rope_dims)));
            const auto run = [&](Side& side, bool want_cache) {
                QkvSettings s;
                s.heads = h.heads;
                s.kv_heads = h.kv_heads;
                s.head_dim = h.dim;
                if (c.bias)
                    s.q_bias = side.up(q_bias), s.k_bias = side.up(k_bias), s.v_bias = side.up(v_bias);
                if (c.norm) s.q_norm = side.up(q_norm), s.k_norm = side.up(k_norm);
                s.norm_eps = 1e-6F;
                s.rope_dims = c.rope_dims;
                s.rope_frequencies = side.up(frequencies);
                const KvLayer cache = data.up(side);
                const HiddenRows out =
                    side.hidden(std::vector<float>(static_cast<std::size_t>(rows * h.heads * h.dim), 0.25F),
                                h.heads * h.dim);
                side.ops->attend(side.hidden(qkv, columns), s, view(side, batch), cache,
                                 {1 / std::sqrt(static_cast<float>(h.dim)), c.window}, out);
                if (!want_cache) return side.down(out);
                const auto count = static_cast<std::size_t>(tokens), dim = static_cast<std::size_t>(h.dim);
                auto all = side.down_cached(c.element, cache.keys, cache.key_scales, count, dim);
                const auto values = side.down_cached(c.element, cache.values, cache.value_scales, count, dim);
                all.insert(all.end(), values.begin(), values.end());
                return all;
            };
            // A difference in the last bit of fp32 changes the rounding to fp16 of one or two keys and values
            // in thousands; with few sequences there are too few.
            const double bound = sequences.before_and_now.size() > 4 ? 1e-8 : 1e-11;
            expect_same([&](Side& side) { return run(side, false); }, bound);
            expect_same([&](Side& side) { return run(side, true); }, 1e-8);
        }
    }
}

// Computed by hand: the largest number becomes 127.
TEST_P(OpsAttentionTest, RoundsInt8ToTheNearestOf255Steps) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<std::vector<float>> heads = {
        {0, 0, 0, 0}, {254, -126, 10, -3.5F}, {0, 0, 0, 0}, {1, INFINITY, 0, 0}};  // keys, values
    const std::vector<float> scales = {0, 2, 0, nan};
    const std::vector<int> quants = {0, 0, 0, 0, 127, -63, 5, -2, 0, 0, 0, 0, 0, 0, 0, 0};
    Side side(GetParam().make());
    QkvSettings s;
    s.heads = 1;
    s.kv_heads = 2;
    s.head_dim = 16;
    std::vector<float> qkv(16, 1.0F);
    for (auto head : heads) {
        head.resize(16);
        qkv.insert(qkv.end(), head.begin(), head.end());
    }
    const std::size_t tokens = 2 * kv_page_tokens;
    const std::vector<std::int8_t> nothing(tokens * 16);
    const std::vector<float> none(tokens, -1);
    const KvLayer cache{side.up(nothing), side.up(nothing), KvElement::I8, side.up(none), side.up(none)};
    const Batch batch = make_batch({{{0, 1}}}, random_);
    side.ops->rope_and_store(side.hidden(qkv, 80), s, view(side, batch), cache);
    for (std::size_t head = 0; head < 4; ++head) {
        std::vector<std::int8_t> q(nothing.size());
        std::vector<float> scale(tokens);
        side.ops->download(q.data(), head < 2 ? cache.keys : cache.values, q.size());
        side.ops->download(scale.data(), head < 2 ? cache.key_scales : cache.value_scales,
                           tokens * sizeof(float));
        const std::size_t token = head % 2 * kv_page_tokens;
        if (std::isnan(scales[head]))
            EXPECT_TRUE(std::isnan(scale[token]));
        else
            EXPECT_EQ(scale[token], scales[head]);
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(q[token * 16 + i], quants[head * 4 + i]) << head << i;
        EXPECT_EQ(scale[token + 1], -1);  // the next token's scale keeps its value
    }
}

// Computed by hand. `from`: fp16 numbers, to which the bias `added` is added. Their scale, least number and
// codes in the cache; a NaN scale comes with a NaN.
struct I4Group {
    float added;
    std::vector<float> from;  // the last one is repeated
    float scale, least;
    std::vector<unsigned> codes;
};

TEST_P(OpsAttentionTest, RoundsInt4ToTheNearestOf16Steps) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    constexpr std::size_t dim = 48, kv_heads = 3, groups = 2;
    const std::vector<I4Group> all = {
        // Keys. 3.5 and 4.5 steps are ties.
        {0, {0}, 0, 0, {0}},
        {0, {7.25F}, 0, 7.25F, {0}},
        {0,
         {-3, 12, 0.5F, 1.5F, -2.6F, 11.4F, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 12, 0, -3},
         1,
         -3,
         {0, 15, 4, 4, 0, 14, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 15, 3, 0}},
        // 11 / 15 is between 1501 / 2048 and 1502 / 2048. It is closer to the latter, with which 5.5 would be
        // 7.499 steps; with the former it is 7.504.
        {0, {5.5F, 11, 0}, 1501.0F / 2048, 0, {8, 15, 0}},
        // 131008 / 15 = 8733.9 is between 8728 and 8736; 15 steps of 8736 would end at 65536.
        {0, {65504, 0, -65504}, 8728, -65504, {15, 8, 0}},
        {0, {1, INFINITY, 0}, nan, nan, {0}},
        // Values, with a bias. 2049 is rounded to 2048; (2081 - 2048) / 15 = 2.2 to 2.19921875.
        {1, {2048, 2080, 2064, 2048}, 2.19921875F, 2048, {0, 15, 8, 0}},
        {-1, {0}, 0, -1, {0}},
        {1, {65504, 0}, nan, nan, {0}},
        {0, {0.25F, nan, 0}, nan, nan, {0}},
        // 2051 is rounded up to 2052: nothing is above it.
        {1, {2050}, 0, 2052, {0}},
        {0, {-0.0625F, -1, -0.5F}, 0.0625F, -1, {15, 0, 8}},
    };
    std::vector<float> qkv(dim, 1.0F), bias;
    for (std::size_t g = 0; g < all.size(); ++g) {
        for (std::size_t i = 0; i < (g % groups == 0 ? 32U : 16U); ++i) {
            qkv.push_back(all[g].from[std::min(i, all[g].from.size() - 1)]);
            bias.push_back(all[g].added);
        }
    }
    Side side(GetParam().make());
    QkvSettings s;
    s.heads = 1;
    s.kv_heads = kv_heads;
    s.head_dim = dim;
    s.k_bias = side.up(bias);
    s.v_bias = s.k_bias + kv_heads * dim;
    constexpr std::size_t tokens = kv_heads * kv_page_tokens;
    const std::vector<std::uint8_t> codes(tokens * groups * 16, 0xaa);
    const std::vector<std::uint16_t> scales(tokens * groups * 2, half_from_float(-5));
    const KvLayer cache{side.up(codes), side.up(codes), KvElement::I4, side.up(scales), side.up(scales)};
    const auto columns = static_cast<std::int64_t>(qkv.size());
    side.ops->rope_and_store(side.hidden(qkv, columns), s, view(side, make_batch({{{0, 1}}}, random_)),
                             cache);
    for (std::size_t g = 0; g < all.size(); ++g) {
        SCOPED_TRACE(g);
        const I4Group& wanted = all[g];
        const bool is_key = g < kv_heads * groups;
        const auto got_codes = side.down_as<std::uint8_t>(is_key ? cache.keys : cache.values, codes.size());
        const auto got_scales =
            side.down_halves(is_key ? cache.key_scales : cache.value_scales, scales.size());
        const std::size_t head = g / groups % kv_heads, at = head * kv_page_tokens * groups + g % groups;
        if (std::isnan(wanted.scale)) {
            EXPECT_TRUE(std::isnan(got_scales[2 * at]));
        } else {
            EXPECT_EQ(got_scales[2 * at], wanted.scale);
            EXPECT_EQ(got_scales[2 * at + 1], wanted.least);
        }
        for (std::size_t i = 0; i < 32; ++i) {
            const unsigned code = got_codes[at * 16 + i % 16] >> (i < 16 ? 0 : 4) & 15U;
            const bool behind = g % groups == 1 && i >= 16;  // the end of the head
            EXPECT_EQ(code, behind ? 0 : wanted.codes[std::min(i, wanted.codes.size() - 1)]) << i;
        }
        // The next token keeps its codes and scales.
        EXPECT_EQ(got_codes[(at + groups) * 16], 0xaa);
        EXPECT_EQ(got_scales[2 * (at + groups)], -5);
    }
}

// GPUs round the softmax weights of tokens to fp16, but not their sum, so a mean of fp16's largest numbers
// can exceed them. Here the weight of every 64th token is 1; that of the others is exp(-scale), which is 1.1
// * 2^-12 above 0.5 and is rounded to 2 * 2^-12 above. The mean over 64 tokens is therefore 63 * 0.9 * 2^-12
// / 32.5 = 4.3e-4 too large: 65532, while numbers from 65520 on round to infinity. The pattern repeats
// because the parts of a context are weighted separately.
TEST_P(OpsAttentionTest, ClampsMeansOfTheLargestNumbers) {
    const int dim = 64;
    const float largest = 65504, scale = -std::log(0.5F + 1.1F / 4096);
    const Batch batch = make_batch({{{127, 1}, {299, 1}, {280, 20}, {1490, 10}}}, random_);
    const auto rows = static_cast<std::int64_t>(batch.token.size());
    const std::size_t numbers = batch.page_table.size() * kv_page_tokens * dim;
    CacheData data;
    data.keys.resize(numbers);
    data.values.resize(numbers, half_from_float(largest));
    for (std::size_t i = 0; i < numbers; i += dim) data.keys[i] = half_from_float(-1);
    const auto most = static_cast<std::size_t>(batch.max_pages);
    for (std::size_t p = 0; p < batch.page_table.size(); ++p) {
        const auto page = static_cast<std::size_t>(batch.page_table[p]);
        if (p % most % (64 / kv_page_tokens) == 0) data.keys[page * kv_page_tokens * dim] = 0;
    }
    QkvSettings settings;
    settings.heads = settings.kv_heads = 1;
    settings.head_dim = dim;
    for (const bool clamp : {false, true}) {
        Side side(GetParam().make(clamp));
        const bool halves = side.ops->hidden_element() == Element::F16;
        const HiddenRows out = side.hidden(std::vector<float>(static_cast<std::size_t>(rows * dim)), dim);
        const std::vector<float> ones(static_cast<std::size_t>(rows * 3 * dim), 1);
        side.ops->attention(side.hidden(ones, 3 * dim), settings, view(side, batch), data.up(side), {scale},
                            out);
        for (const float got : side.down(out)) {
            if (halves)
                EXPECT_EQ(got, clamp ? largest : std::numeric_limits<float>::infinity());
            else
                EXPECT_NEAR(got, largest, 6);  // fp32 sums of 1500 terms: relative error 1500 * 2^-24
        }
    }
}

}  // namespace
}  // namespace voltpile::llm
