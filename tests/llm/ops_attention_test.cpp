#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

// Sequences with `before` tokens in the cache, and `now` in this batch; -1 rows of no sequence at the end.
struct Sequences {
    std::vector<std::pair<int, int>> before_and_now;
    int empty_rows = 0;
};

// Pages in a shuffled order, all different.
Batch make_batch(const Sequences& sequences, std::mt19937_64& random) {
    Batch batch;
    int pages = 0;
    for (const auto& [before, now] : sequences.before_and_now) {
        const int needed = (before + now + kv_page_tokens - 1) / kv_page_tokens;
        batch.max_pages = std::max(batch.max_pages, needed);
        pages += needed;
    }
    std::vector<std::int32_t> order(static_cast<std::size_t>(pages));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    std::shuffle(order.begin(), order.end(), random);
    std::size_t next = 0;
    batch.row_begin = {0};
    for (std::size_t s = 0; s < sequences.before_and_now.size(); ++s) {
        const auto [before, now] = sequences.before_and_now[s];
        for (int p = before; p < before + now; ++p) {
            batch.token.push_back(0);
            batch.position.push_back(p);
            batch.sequence.push_back(static_cast<std::int32_t>(s));
        }
        batch.row_begin.push_back(static_cast<std::int32_t>(batch.token.size()));
        for (int page = 0; page < batch.max_pages; ++page) {
            const bool used = page * kv_page_tokens < before + now;
            batch.page_table.push_back(used ? order[next++] : 0);
        }
    }
    for (int i = 0; i < sequences.empty_rows; ++i) {
        batch.token.push_back(0);
        batch.position.push_back(0);
        batch.sequence.push_back(-1);
    }
    return batch;
}

BatchView view(Side& side, const Batch& batch) {
    BatchView view;
    view.rows = static_cast<int>(batch.token.size());
    view.sequences = static_cast<int>(batch.row_begin.size()) - 1;
    view.max_pages = batch.max_pages;
    view.max_context = batch.max_pages * kv_page_tokens;
    for (int s = 0; s < view.sequences; ++s)
        view.max_new = std::max(view.max_new, batch.row_begin[static_cast<std::size_t>(s) + 1] -
                                                  batch.row_begin[static_cast<std::size_t>(s)]);
    view.token = side.up(batch.token);
    view.position = side.up(batch.position);
    view.sequence = side.up(batch.sequence);
    view.row_begin = side.up(batch.row_begin);
    view.page_table = side.up(batch.page_table);
    return view;
}

class OpsAttentionTest : public OpsTest {
  protected:
    struct Heads {
        int heads, kv_heads, dim;
    };

    void check_attention(const Sequences& sequences, const Heads& h, int window, int gap = 0) {
        const Batch batch = make_batch(sequences, random_);
        const std::int64_t pages = static_cast<std::int64_t>(batch.page_table.size()) + 1;
        const auto rows = static_cast<std::int64_t>(batch.token.size());
        const std::int64_t columns = static_cast<std::int64_t>(h.heads + 2 * h.kv_heads) * h.dim;
        const auto qkv = normals(rows * columns);
        const auto keys = halves(normals(pages * h.kv_heads * kv_page_tokens * h.dim));
        const auto values = halves(normals(pages * h.kv_heads * kv_page_tokens * h.dim));
        expect_same([&](Side& side) {
            QkvSettings settings;
            settings.heads = h.heads;
            settings.kv_heads = h.kv_heads;
            settings.head_dim = h.dim;
            const std::int64_t stride = h.heads * h.dim + gap;
            const HiddenRows out =
                side.hidden(std::vector<float>(static_cast<std::size_t>(rows * stride), 0.25F), stride);
            side.ops->attention(side.hidden(qkv, columns), settings, view(side, batch),
                                {side.up(keys), side.up(values)}, 1 / std::sqrt(static_cast<float>(h.dim)),
                                window, out);
            return side.down(out);
        });
    }

    static std::vector<std::uint16_t> halves(const std::vector<float>& values) {
        std::vector<std::uint16_t> out(values.size());
        std::transform(values.begin(), values.end(), out.begin(), half_from_float);
        return out;
    }
};
VOLTPILE_FOR_ALL_OPS(OpsAttentionTest);

TEST_P(OpsAttentionTest, OneTokenOfOneSequence) {
    check_attention({{{0, 1}}}, {4, 2, 64}, 0);
    check_attention({{{15, 1}}}, {4, 2, 64}, 0);
    check_attention({{{16, 1}}}, {4, 2, 64}, 0);
    check_attention({{{700, 1}}}, {4, 2, 64}, 0);
}

TEST_P(OpsAttentionTest, PromptPiecesAndSingleTokensTogether) {
    check_attention({{{0, 37}, {100, 1}, {33, 21}, {0, 1}, {255, 1}}, 3}, {8, 2, 64}, 0);
}

TEST_P(OpsAttentionTest, GroupsOfHeads) {
    for (const auto& [heads, kv_heads] : {std::pair{3, 3}, {6, 3}, {7, 1}, {16, 2}, {32, 4}})
        check_attention({{{40, 1}, {3, 5}}}, {heads, kv_heads, 32}, 0);
}

TEST_P(OpsAttentionTest, HeadDimensions) {
    for (const int dim : {16, 24, 64, 80, 96, 128, 256})
        check_attention({{{20, 1}, {0, 18}}}, {4, 2, dim}, 0);
}

TEST_P(OpsAttentionTest, Windows) {
    for (const int window : {1, 5, 16, 33, 1000})
        check_attention({{{70, 1}, {0, 50}, {20, 9}}}, {4, 2, 64}, window);
}

TEST_P(OpsAttentionTest, WiderRowsOfTheResultAreLeftAloneBetween) {
    check_attention({{{20, 1}, {0, 18}}, 2}, {4, 2, 64}, 0, 32);
}

struct RopeCase {
    RopeStyle style;
    int dim, rope_dims;
    bool bias, norm;
    float magnitude;
};

TEST_P(OpsAttentionTest, RopeAndStore) {
    const std::vector<RopeCase> cases = {{RopeStyle::HalfSplit, 64, 64, false, false, 1},
                                         {RopeStyle::Interleaved, 64, 64, false, false, 1},
                                         {RopeStyle::HalfSplit, 128, 128, true, false, 1},
                                         {RopeStyle::HalfSplit, 128, 128, false, true, 1},
                                         {RopeStyle::Interleaved, 80, 32, true, true, 1.25F},
                                         {RopeStyle::HalfSplit, 24, 12, true, true, 0.75F}};
    const int heads = 6, kv_heads = 2;
    const Sequences sequences{{{0, 19}, {5000, 1}, {30, 4}}, 2};
    for (const RopeCase& c : cases) {
        const Batch batch = make_batch(sequences, random_);
        const auto rows = static_cast<std::int64_t>(batch.token.size());
        const std::int64_t columns = static_cast<std::int64_t>(heads + 2 * kv_heads) * c.dim;
        auto qkv = normals(rows * columns);
        const std::int64_t cache_size =
            static_cast<std::int64_t>(batch.page_table.size()) * kv_heads * kv_page_tokens * c.dim;
        const auto q_bias = normals(heads * c.dim), k_bias = normals(kv_heads * c.dim),
                   v_bias = normals(kv_heads * c.dim), q_norm = normals(c.dim, 0.1F, 1),
                   k_norm = normals(c.dim, 0.1F, 1);
        std::vector<float> frequencies;
        for (int i = 0; i < c.rope_dims / 2; ++i)
            frequencies.push_back(
                std::pow(10000.0F, -2 * static_cast<float>(i) / static_cast<float>(c.rope_dims)));
        const auto run = [&](Side& side, bool want_cache) {
            QkvSettings s;
            s.heads = heads;
            s.kv_heads = kv_heads;
            s.head_dim = c.dim;
            if (c.bias) s.q_bias = side.up(q_bias), s.k_bias = side.up(k_bias), s.v_bias = side.up(v_bias);
            if (c.norm) s.q_norm = side.up(q_norm), s.k_norm = side.up(k_norm);
            s.norm_eps = 1e-6F;
            s.rope_style = c.style;
            s.rope_dims = c.rope_dims;
            s.rope_frequencies = side.up(frequencies);
            s.rope_magnitude = c.magnitude;
            const std::vector<std::uint16_t> nothing(static_cast<std::size_t>(cache_size));
            const KvLayer cache{side.up(nothing), side.up(nothing)};
            const HiddenRows x = side.hidden(qkv, columns);
            side.ops->rope_and_store(x, s, view(side, batch), cache);
            std::vector<float> result;
            if (want_cache) {
                for (const void* half : {cache.keys, cache.values}) {
                    const auto stored = side.down_halves(half, nothing.size());
                    result.insert(result.end(), stored.begin(), stored.end());
                }
                return result;
            }
            // The queries alone: what became of keys and values in x is nobody's business.
            const auto all = side.down(x);
            for (std::int64_t r = 0; r < rows - sequences.empty_rows; ++r)
                result.insert(result.end(), all.begin() + r * columns,
                              all.begin() + r * columns + heads * c.dim);
            return result;
        };
        expect_same([&](Side& side) { return run(side, false); });
        // Rounded to fp16, where a last bit in fp32 can tip the scale: for a number or two in thousands.
        expect_same([&](Side& side) { return run(side, true); }, 1e-8);
    }
}

}  // namespace
}  // namespace voltpile::llm
