// What becomes of the heads of a row between the QKV product and attention: bias, norm, RoPE, and the places
// of keys and values in the cache.
#include <bit>
#include <limits>

#include "llm/ops_fixture.h"
#include "llm/ops_sequences.h"

namespace voltpile::llm {
namespace {

class OpsRopeTest : public OpsTest {
  protected:
    struct Heads {
        int heads, kv_heads, dim;
    };
};
VOLTPILE_FOR_ALL_OPS(OpsRopeTest);

struct RopeCase {
    RopeStyle style;
    int dim, rope_dims;
    bool bias, norm;
    float magnitude;
    bool row_norm = false;  // of all heads together
};

TEST_P(OpsRopeTest, SumsSquaresOfQueriesAndKeys) {
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

TEST_P(OpsRopeTest, RotatesAndStores) {
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
        if (!GetParam().name.starts_with("gpu"))
            expect_same([&](Side& side) { return run(side, true, KvElement::F32); });
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
TEST_P(OpsRopeTest, PreparesHeadsAndAttends) {
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

// One number in its block becomes the column of the Walsh-Hadamard matrix with its index, and the largest
// magnitude 127. Where values are keys, the size of a block also divides rope_dims.
TEST_P(OpsRopeTest, RotatesBlocksForQuantizedCaches) {
    struct Case {
        int dim, rope_dims;
        bool values_are_keys;
        int block, at;
    };
    for (const Case& c : {Case{16, 0, false, 16, 5},
                          {24, 0, false, 8, 19},
                          {96, 0, false, 32, 63},
                          {96, 16, true, 16, 37},
                          {32, 8, true, 8, 6}}) {
        SCOPED_TRACE(c.dim);
        const auto dim = static_cast<std::size_t>(c.dim), at = static_cast<std::size_t>(c.at);
        const auto block = static_cast<std::size_t>(c.block);
        QkvSettings s;
        s.heads = s.kv_heads = 1;
        s.head_dim = c.dim;
        s.rope_dims = c.rope_dims;
        Side side(GetParam().make());
        s.rope_frequencies = side.up(std::vector<float>(dim));  // no angles
        std::vector<float> qkv(3 * dim);
        for (std::size_t head = 0; head < 3; ++head) qkv[head * dim + at] = 2;
        KvLayer cache = side.empty_cache(KvElement::I8, kv_page_tokens, dim);
        if (c.values_are_keys) cache.values = cache.keys, cache.value_scales = cache.key_scales;
        const HiddenRows x = side.hidden(qkv, 3 * c.dim);
        side.ops->rope_and_store(x, s, view(side, make_batch({{{0, 1}}}, random_)), cache);
        const auto queries = side.down(x);
        for (void* const stored : {cache.keys, cache.values}) {
            const auto got = side.down_as<std::int8_t>(stored, dim);
            for (std::size_t i = 0; i < dim; ++i) {
                const bool inside = i / block == at / block;
                const int sign = std::popcount(i % block & at % block) % 2 == 0 ? 1 : -1;
                EXPECT_EQ(got[i], inside ? 127 * sign : 0) << i;
                // fp16
                EXPECT_NEAR(queries[i], inside ? 2 * sign / std::sqrt(c.block) : 0, 1e-3) << i;
            }
        }
    }
}

// A number of 100 among normal ones makes the steps of int4 6.7 wide, in which the others would be lost. The
// rotation leaves numbers of about 12.5 and -12.5.
TEST_P(OpsRopeTest, ALargeNumberHardlyCoarsensTheOthers) {
    const int dim = 64;
    QkvSettings s;
    s.heads = s.kv_heads = 1;
    s.head_dim = dim;
    std::vector<float> qkv = normals(3 * dim);
    qkv[2 * dim + 3] = 100;
    Side side(GetParam().make());
    const KvLayer cache = side.empty_cache(KvElement::I4, kv_page_tokens, dim);
    const HiddenRows out = side.hidden(std::vector<float>(dim), dim);
    side.ops->attend(side.hidden(qkv, 3 * dim), s, view(side, make_batch({{{0, 1}}}, random_)), cache, {1},
                     out);
    const auto got = side.down(out);
    double squares = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
        squares += std::pow(static_cast<double>(got[i]) - static_cast<double>(qkv[2 * dim + i]), 2);
    EXPECT_LT(std::sqrt(squares / dim), 1);
}

// Computed by hand: the largest number becomes 127. An odd number of dimensions is not rotated.
TEST_P(OpsRopeTest, RoundsInt8ToTheNearestOf255Steps) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<std::vector<float>> heads = {
        {0, 0, 0, 0}, {254, -126, 10, -3.5F}, {0, 0, 0, 0}, {1, INFINITY, 0, 0}};  // keys, values
    const std::vector<float> scales = {0, 2, 0, nan};
    const std::vector<int> quants = {0, 0, 0, 0, 127, -63, 5, -2, 0, 0, 0, 0, 0, 0, 0, 0};
    Side side(GetParam().make());
    QkvSettings s;
    s.heads = 1;
    s.kv_heads = 2;
    constexpr std::size_t dim = 17;
    s.head_dim = dim;
    std::vector<float> qkv(dim, 1.0F);
    for (auto head : heads) {
        head.resize(dim);
        qkv.insert(qkv.end(), head.begin(), head.end());
    }
    const std::size_t tokens = 2 * kv_page_tokens;
    const std::vector<std::int8_t> nothing(tokens * dim);
    const std::vector<float> none(tokens, -1);
    const KvLayer cache{side.up(nothing), side.up(nothing), KvElement::I8, side.up(none), side.up(none)};
    const Batch batch = make_batch({{{0, 1}}}, random_);
    side.ops->rope_and_store(side.hidden(qkv, 5 * dim), s, view(side, batch), cache);
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
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(q[token * dim + i], quants[head * 4 + i]) << head << i;
        EXPECT_EQ(scale[token + 1], -1);  // the next token's scale keeps its value
    }
}

// Computed by hand, without a rotation. `from`: fp16 numbers, to which the bias `added` is added. Their
// scale, least number and codes in the cache; a NaN scale comes with a NaN.
struct I4Group {
    float added;
    std::vector<float> from;  // the last one is repeated
    float scale, least;
    std::vector<unsigned> codes;
};

TEST_P(OpsRopeTest, RoundsInt4ToTheNearestOf16Steps) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    constexpr std::size_t dim = 49, kv_heads = 3, groups = 2;  // an odd number of dimensions is not rotated
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
        for (std::size_t i = 0; i < (g % groups == 0 ? 32U : 17U); ++i) {
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
            const bool behind = g % groups == 1 && i >= 17;  // the end of the head
            EXPECT_EQ(code, behind ? 0 : wanted.codes[std::min(i, wanted.codes.size() - 1)]) << i;
        }
        // The next token keeps its codes and scales.
        EXPECT_EQ(got_codes[(at + groups) * 16], 0xaa);
        EXPECT_EQ(got_scales[2 * (at + groups)], -5);
    }
}

}  // namespace
}  // namespace voltpile::llm
