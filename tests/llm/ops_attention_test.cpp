#include <algorithm>
#include <bit>
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
    for (const int dim : {64, 80, 128, 256})
        for (const int window : {0, 1100})
            check_attention({{{1500, 1}, {1000, 70}, {2047, 1}, {0, 30}, {2100, 9}}, 1}, {4, 2, dim}, window);
}

// Contexts of some splits, which a GPU may join in one kernel: of other lengths beside them, also of one
// token, and with the first splits outside of a window.
TEST_P(OpsAttentionTest, JoinsSplits) {
    for (const int dim : {64, 80, 128, 256})
        for (const int window : {0, 300})
            for (const int longest : {511, 1023})
                check_attention({{{longest, 1}, {130, 1}, {0, 1}, {400, 1}, {128, 1}}, 2}, {8, 2, dim},
                                window);
    for (const KvElement element : {KvElement::I8, KvElement::I4})
        for (const int dim : {128, 256})
            check_attention({{{500, 1}, {127, 1}}, 1}, {6, 1, dim}, 0, 0, element);
}

// Sequences enough for GPU blocks that work on a thousand tokens each, with and without a prompt beside them.
TEST_P(OpsAttentionTest, AttendsForManySequences) {
    Sequences many{{}, 3};
    for (int i = 0; i < 50; ++i) many.before_and_now.emplace_back(i % 10 == 9 ? 2200 : i * 23, 1);
    for (const KvElement element : {KvElement::F16, KvElement::I8, KvElement::I4})
        check_attention(many, {4, 4, 32}, 0, 0, element);
    check_attention(many, {4, 4, 80}, 1050);
    check_attention(many, {4, 4, 256}, 1050);
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
    for (const int dim : {64, 80, 128, 256}) {
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
    for (const KvElement element : {KvElement::I8, KvElement::I4}) {
        for (const int dim : {128, 256}) {
            check_attention({{{70, 1}, {0, 50}, {20, 9}}}, {4, 2, dim}, 33, 32, element, 2.0F);
            check_attention({{{70, 1}, {300, 1}, {0, 1}}, 1}, {4, 2, dim}, 0, 0, element, 2.0F);
        }
    }
    // A cap far above the scores hardly changes them. Cores have an absolute error of 1e-7 times the cap.
    if (GetParam().name.starts_with("gpu"))
        check_attention({{{20, 1}, {0, 18}}}, {4, 2, 128}, 0, 0, KvElement::F16, 1e5F);
}

// Sinks below, among and far above the scores: the largest takes nearly all of the softmax.
TEST_P(OpsAttentionTest, GivesPartOfTheSoftmaxToSinks) {
    const std::vector<float> sinks = {-300, -2, 0, 1, 2.5F, 4, 6, 9};
    for (const int dim : {16, 64, 128, 256})
        check_attention({{{20, 1}, {0, 18}, {300, 1}, {1500, 9}, {2047, 1}, {0, 1}}, 1}, {8, 2, dim}, 0, 0,
                        KvElement::F16, 0, sinks);
    check_attention({{{300, 1}, {20, 1}}, 1}, {8, 2, 128}, 0, 0, KvElement::F16, 0, sinks);
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

// Only cores have these.
TEST_P(OpsAttentionTest, ReadsCachesInFp32) {
    if (GetParam().name.starts_with("gpu")) GTEST_SKIP() << "for cores";
    for (const int dim : {16, 24, 64, 80, 128})
        check_attention({{{20, 1}, {0, 18}, {300, 1}, {90, 200}}, 1}, {8, 2, dim}, 33, 32, KvElement::F32);
}

TEST_P(OpsAttentionTest, ReadsQuantizedCaches) {
    for (const KvElement element : {KvElement::I8, KvElement::I4}) {
        for (const int dim : {16, 24, 32, 64, 80, 96, 112, 128, 192, 256})
            check_attention({{{20, 1}, {0, 18}, {300, 1}, {90, 200}}, 1}, {8, 2, dim}, 0, 0, element);
        check_attention({{{270, 1}, {0, 50}, {20, 9}}}, {4, 2, 64}, 33, 0, element);
        for (const int dim : {64, 128})  // columns behind the heads
            check_attention({{{270, 1}, {0, 50}, {20, 9}}, 1}, {4, 2, dim}, 0, 32, element);
        for (const int dim : {64, 128})
            check_attention({{{1500, 1}, {1000, 70}, {2047, 1}, {0, 30}, {2100, 9}}, 1}, {4, 2, dim}, 1100, 0,
                            element);
        check_attention({{{0, 1}}}, {2, 1, 576}, 0, 0, element);
        check_attention({{{270, 1}, {20, 1}, {1500, 1}}, 1}, {8, 2, 256}, 0, 0, element);
    }
}

// A sequence's only token has all of the softmax, so the result is its value: codes 0 to 15, in other orders
// for each group, times 0.5, 2 and 0.25, plus -3, 100 and 0, and blocks of 16 numbers are rotated back.
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
    const auto got = side.down(out);
    for (std::size_t block = 0; block < dim; block += 16) {
        std::vector<float> rotated;
        for (std::size_t i = 0; i < 16; ++i) {
            float sum = 0;
            for (std::size_t j = 0; j < 16; ++j)
                sum += (std::popcount(i & j) % 2 == 0 ? 1.0F : -1.0F) * wanted[block + j];
            rotated.push_back(sum / 4);
        }
        // All numbers are exact in fp16, before and after.
        for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(got[block + i], rotated[i]) << block + i;
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
