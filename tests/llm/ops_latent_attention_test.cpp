// Attention over latent vectors of DeepSeek V2's and V3's size.
#include <cmath>
#include <limits>

#include "llm/ops_fixture.h"
#include "llm/ops_sequences.h"

namespace voltpile::llm {
namespace {

class OpsLatentAttentionTest : public OpsTest {
  protected:
    static constexpr int key = 576, rotated = 64;  // numbers of a key; the rotated ones are no value

    // Returns the values of each row and head, then the columns beyond the heads. keys: of the cache, which
    // are also its values.
    static std::vector<float> attend(Side& side, const Batch& batch, int heads, const std::vector<float>& qkv,
                                     const std::vector<std::uint16_t>& keys, int gap = 0, int context = 0) {
        QkvSettings settings;
        settings.heads = heads;
        settings.kv_heads = 1;
        settings.head_dim = key;
        settings.rope_dims = rotated;
        const auto rows = static_cast<std::int64_t>(batch.token.size());
        const std::int64_t columns = heads * key + gap;
        const HiddenRows out =
            side.hidden(std::vector<float>(static_cast<std::size_t>(rows * columns), 0.25F), columns);
        KvLayer cache;
        cache.keys = cache.values = side.up(keys);
        BatchView seen = view(side, batch);
        seen.max_context = std::max(seen.max_context, context);
        side.ops->attention(side.hidden(qkv, (heads + 2) * key), settings, seen, cache,
                            {1 / std::sqrt(192.0F)}, out);
        const auto all = side.down(out);
        std::vector<float> result;
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto row = all.begin() + r * columns;
            for (int h = 0; h < heads; ++h)
                result.insert(result.end(), row + h * key + rotated, row + (h + 1) * key);
            result.insert(result.end(), row + heads * key, row + columns);
        }
        return result;
    }
    // context: a bound above the longest one, as recorded passes have it.
    void check(const Sequences& sequences, int heads, int gap = 0, int context = 0) {
        const Batch batch = make_batch(sequences, random_);
        const auto rows = static_cast<std::int64_t>(batch.token.size());
        const auto qkv = normals(rows * (heads + 2) * key);
        const auto pages = static_cast<std::int64_t>(batch.page_table.size()) + 1;
        const auto keys = cache_data(KvElement::F16, pages * kv_page_tokens, key).keys;
        SCOPED_TRACE(testing::Message() << heads << " heads, " << rows << " rows");
        expect_same([&](Side& side) { return attend(side, batch, heads, qkv, keys, gap, context); });
    }
};
VOLTPILE_FOR_ALL_OPS(OpsLatentAttentionTest);

TEST_P(OpsLatentAttentionTest, AttendsWithASingleToken) {
    for (const int before : {0, 1, 15, 16, 31, 32, 63, 64, 500})
        for (const int heads : {16, 3}) check({{{before, 1}}}, heads);
}

TEST_P(OpsLatentAttentionTest, SupportsSharesOfTheHeads) {
    for (const int heads : {1, 3, 8, 16, 17, 32, 128}) check({{{70, 1}, {0, 1}, {200, 1}}, 2}, heads);
    for (const int heads : {3, 8, 40}) check({{{70, 2}, {0, 5}, {100, 1}}, 1}, heads);
}

TEST_P(OpsLatentAttentionTest, JoinsLongContexts) {
    check({{{2999, 1}, {15, 1}, {1023, 1}, {512, 1}}, 1}, 16);
    check({{{2047, 5}, {2, 1}}}, 8);
    check({{{1500, 70}}}, 3);
    check({{{20, 300}}}, 1);
    check({{{700, 18}}}, 16);
}

TEST_P(OpsLatentAttentionTest, AcceptsContextsBelowTheBound) {
    check({{{100, 1}, {700, 1}}, 6}, 16, 0, 4096);
}

TEST_P(OpsLatentAttentionTest, AttendsWithPrompts) {
    for (const int rows : {2, 5, 16, 17, 70}) check({{{0, rows}}}, 16);
    check({{{0, 300}}}, 3);
    check({{{130, 70}, {0, 37}}}, 8);
}

TEST_P(OpsLatentAttentionTest, MixesPromptsAndSingleTokens) {
    check({{{0, 37}, {100, 1}, {33, 21}, {0, 1}, {255, 1}}, 3}, 16);
    check({{{400, 1}, {0, 70}, {20, 2}}, 1}, 3);
}

TEST_P(OpsLatentAttentionTest, KeepsColumnsBeyondTheHeads) {
    check({{{20, 1}, {0, 18}}, 2}, 16, 32);
}

// More sequences than a warp looks at once.
TEST_P(OpsLatentAttentionTest, DividesManyPromptsAmongBlocks) {
    std::vector<std::pair<int, int>> many;
    for (int i = 0; i < 40; ++i) many.emplace_back(i, i % 5 == 0 ? 1 : i / 2 + 1);
    check({many, 2}, 4);
}

// Pages may hold the vectors of another sequence's end, or of an overflow, behind a sequence's tokens.
TEST_P(OpsLatentAttentionTest, IgnoresTheCacheBehindASequence) {
    constexpr int tokens = 137, heads = 16;
    for (const int fresh : {1, 37}) {
        const Batch batch = make_batch({{{tokens - fresh, fresh}}}, random_);
        const auto qkv = normals(std::int64_t{fresh} * (heads + 2) * key);
        const auto pages = static_cast<std::int64_t>(batch.page_table.size());
        const auto clean = cache_data(KvElement::F16, pages * kv_page_tokens, key).keys;
        auto stale = clean;
        const auto page = stale.begin() + batch.page_table.back() * kv_page_tokens * key;
        std::fill(page + tokens % kv_page_tokens * key, page + kv_page_tokens * key,
                  half_from_float(std::numeric_limits<float>::quiet_NaN()));
        Side side(GetParam().make());
        EXPECT_EQ(attend(side, batch, heads, qkv, clean), attend(side, batch, heads, qkv, stale)) << fresh;
    }
}

// A number that is not finite must reach the norm that detects it.
TEST_P(OpsLatentAttentionTest, PassesNanOn) {
    for (const int fresh : {1, 40}) {
        const Batch batch = make_batch({{{300, fresh}}}, random_);
        const auto qkv = normals(std::int64_t{fresh} * 18 * key);
        const auto pages = static_cast<std::int64_t>(batch.page_table.size());
        auto keys = cache_data(KvElement::F16, pages * kv_page_tokens, key).keys;
        keys[static_cast<std::size_t>(batch.page_table[3] * kv_page_tokens * key) + 7] =
            half_from_float(std::numeric_limits<float>::quiet_NaN());
        Side side(GetParam().make());
        for (const float value : attend(side, batch, 16, qkv, keys)) ASSERT_TRUE(std::isnan(value)) << fresh;
    }
}

}  // namespace
}  // namespace voltpile::llm
