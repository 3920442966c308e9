// What a block of the attention kernels has in shared memory, and how it gets there.
#pragma once

#include "llm/ops/cuda_async_copy.cuh"
#include "llm/ops/cuda_attention.cuh"

namespace voltpile::llm {

constexpr int attention_threads = 256;
constexpr int tile_rows_of_queries = 64, teams = 4;  // two warps to 16 rows
constexpr int score_stride = split_tokens + 4;       // floats
constexpr int weight_stride = 2 * score_stride;      // halves: a row's weights lie in the place of its scores

// A sequence's rows, 1 to 64, are in a tile for as many query heads of a KV head as have room, 16 rows of one
// head to a team: small pieces of prompts would leave most of it empty.
__host__ __device__ constexpr int teams_of_head(int rows) {
    return (rows + 15) / 16;
}
__host__ __device__ constexpr int heads_of_tile(int rows) {
    return teams / teams_of_head(rows);
}

// Rows of one sequence, in some heads of a KV head: what a tile takes.
struct Segment {
    int sequence, row, rows;  // of the batch; 1 to 64 rows
    int head, heads;
};
// Those of a team, from the segment's first row on. None, if there is no head for it.
struct TeamRows {
    int head, first, count;
};
__device__ inline TeamRows team_rows(const Segment& segment, int team) {
    const int each = teams_of_head(segment.rows), h = team / each, first = team % each * 16;
    return {segment.head + h, first, h < segment.heads ? min(16, segment.rows - first) : 0};
}
constexpr int not_ours = -2;

// For which a multiprocessor has shared memory: 96 KB are enough for one.
constexpr int prompt_blocks = copies_run_alone ? 2 : 1;

template <int width>
struct Tiles {
    static constexpr int stride = width + 8;
    __half query[tile_rows_of_queries][stride];
    __half cached[split_tokens][stride];  // keys, then values
    float score[teams][16][score_stride];
    JoinFactors factors[teams][16];
    std::int64_t page[span_tokens / kv_page_tokens];  // of the cache
    Segment segment;
    // Of the block: the first row, the query heads of its KV head, and what becomes of rows
    // (mark_segments()).
    int first_row;
    int group_begin, group_end, tile_of_group;
    int sequence[tile_rows_of_queries];  // -1: empty; not_ours: not for this kernel
    int segment_begin[tile_rows_of_queries];
    int segment_end[tile_rows_of_queries];
};

// Rows of head_dim numbers, and zeros up to the width: what is multiplied need not ask. 16 bytes a thread and
// all on their way at once: piece(row, number of the piece).
template <int width, int rows, class Piece>
__device__ void fetch(__half (&to)[rows][width + 8], int head_dim, const Piece& piece) {
    constexpr int pieces = width / 8, step = attention_threads / pieces, each = (rows + step - 1) / step;
    static_assert(rows % step == 0 || step % rows == 0);
    const int t = static_cast<int>(threadIdx.x), p = t % pieces, row = t / pieces;
    if (row >= rows) return;
    const bool inside = p * 8 < head_dim;
    uint4 v[each];
#pragma unroll
    for (int n = 0; n < each; ++n) v[n] = inside ? piece(row + n * step, p) : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int n = 0; n < each; ++n) *reinterpret_cast<uint4*>(&to[row + n * step][p * 8]) = v[n];
}

// The keys or values of the tokens tile .. + split_tokens, 0 outside of first .. last; page: of the tile's
// first token. Where copies run alone, they are there after wait_for_copies() and a barrier.
template <int width, KvElement element>
__device__ void fetch_tokens(__half (&to)[split_tokens][width + 8], const void* cache, const float* scales,
                             const std::int64_t* page, int head_dim, int tile, int first, int last) {
    const auto nearest = [&](int token) { return min(max(token, first - tile), last - tile); };
    const auto page_of = [&](int token) {
        return CachedPage<element>(cache, scales, page[token / kv_page_tokens], head_dim);
    };
    if constexpr (copies_run_alone && element == KvElement::F16) {
        constexpr int pieces = width / 8;
        const int t = static_cast<int>(threadIdx.x), p = t % pieces;
        const bool inside = p * 8 < head_dim;
        const int column = inside ? p * 8 : 0;
#pragma unroll
        for (int token = t / pieces; token < split_tokens; token += attention_threads / pieces) {
            const int from = nearest(token);
            copy_alone(&to[token][p * 8], page_of(from).data + from % kv_page_tokens * head_dim + column,
                       inside && from == token);
        }
    } else {
        fetch<width>(to, head_dim, [&](int token, int piece) {
            const int from = nearest(token);
            const uint4 v = page_of(from).halves(from % kv_page_tokens, piece, head_dim);
            return from == token ? v : make_uint4(0, 0, 0, 0);
        });
    }
}
}  // namespace voltpile::llm
