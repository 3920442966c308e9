// The shared memory of an attention block, and the code that fills it.
#pragma once

#include <mma.h>

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/attention.cuh"

namespace voltpile::llm {

using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

constexpr int attention_threads = 256;
constexpr int tile_rows_of_queries = 64, teams = 4;  // a team: two warps with 16 rows
constexpr int score_stride = split_tokens + 4;       // in floats
constexpr int weight_stride = 2 * score_stride;      // in halves: weights overwrite the scores of their row

// Returns the teams that one head of a segment needs. A tile takes the rows of a segment for as many query
// heads of a KV head as fit, 16 rows of one head per team; with one head, a short segment would leave most of
// the tile empty.
__host__ __device__ constexpr int teams_of_head(int rows) {
    return (rows + 15) / 16;
}
__host__ __device__ constexpr int heads_of_tile(int rows) {
    return teams / teams_of_head(rows);
}

// The rows of one sequence, for some query heads of a KV head, that a tile takes at once.
struct Segment {
    int sequence, row, rows;  // sequence and first row in the batch; 1 to 64 rows
    int head, heads;          // first query head, number of heads
};
// The head and rows of a team; `first` counts from the segment's first row. count: 0 if no head is left.
struct TeamRows {
    int head, first, count;
};
__device__ inline TeamRows team_rows(const Segment& segment, int team) {
    const int each = teams_of_head(segment.rows), h = team / each, first = team % each * 16;
    return {segment.head + h, first, h < segment.heads ? min(16, segment.rows - first) : 0};
}
constexpr int not_ours = -2;

// Heads of more than 128 columns go through shared memory in parts of 128 columns.
template <int width>
constexpr int part_columns = width < 128 ? width : 128;
template <int width>
constexpr int column_parts = width / part_columns<width>;

// Blocks per multiprocessor: 96 KB of shared memory suffice for one, and so do the registers for heads in
// several parts.
template <int width>
constexpr int prompt_blocks = copies_run_alone&& column_parts<width> == 1 ? 2 : 1;

template <int width>
struct Tiles {
    static constexpr int columns = part_columns<width>, stride = columns + 8;
    __half query[tile_rows_of_queries][stride];
    __half cached[split_tokens][stride];  // keys, then values
    float score[teams][16][score_stride];
    JoinFactors factors[teams][16];
    std::int32_t page[span_tokens / kv_page_tokens];  // page_index() of the span's pages
    Segment segment;
    // The block's first row and query heads, and the segment of each row (mark_segments()).
    int first_row;
    int group_begin, group_end, tile_of_group;
    int sequence[tile_rows_of_queries];  // -1: empty; not_ours: for another kernel
    int segment_begin[tile_rows_of_queries];
    int segment_end[tile_rows_of_queries];
};

// The pieces of `numbers` numbers that a thread loads of rows with `width` of them: `piece` of rows row,
// row + step, and so on.
template <int width, int numbers = 8>
struct PiecePlace {
    static constexpr int pieces = width / numbers, step = attention_threads / pieces;
    int piece = static_cast<int>(threadIdx.x) % pieces, row = static_cast<int>(threadIdx.x) / pieces;
};
// The pieces of I4. Eight adjacent threads, which access memory at once, load pairs of pieces (whole sectors
// of memory) of four rows, so that they store to different banks of shared memory.
template <int width>
struct PiecePlace<width, 32> {
    static constexpr int pieces = width / 32, step = attention_threads / pieces;
    static_assert(pieces % 2 == 0);
    int piece = static_cast<int>(threadIdx.x) % 2 + static_cast<int>(threadIdx.x) / 8 % (pieces / 2) * 2;
    int row = static_cast<int>(threadIdx.x) / 2 % 4 + static_cast<int>(threadIdx.x) / (4 * pieces) * 4;
};

// Copies `columns` numbers of rows to `to`, padded with zeros to `width`, so that the products need no
// bounds. piece(row, index) loads 16 bytes. All loads are issued before the first store.
template <int width, int rows, class Piece>
__device__ void fetch(__half (&to)[rows][width + 8], int columns, const Piece& piece) {
    const PiecePlace<width> at;
    constexpr int step = at.step, each = (rows + step - 1) / step;
    static_assert(rows % step == 0 || step % rows == 0);
    if (at.row >= rows) return;
    const bool inside = at.piece * 8 < columns;
    uint4 v[each];
#pragma unroll
    for (int n = 0; n < each; ++n)
        v[n] = inside ? piece(at.row + n * step, at.piece) : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int n = 0; n < each; ++n) *reinterpret_cast<uint4*>(&to[at.row + n * step][at.piece * 8]) = v[n];
}

// Brings columns `begin` to begin + width - 1 of keys or values of the split_tokens tokens from position
// `tile` on into shared memory; tokens outside `first` to `last` and columns behind the last become 0. page:
// page_index() of the tile's pages. start() issues the loads and store() completes them; in between the
// caller may do other work. Asynchronous copies write `to` meanwhile; other loads wait in registers. The data
// is complete after store(), wait_for_copies() and a barrier.
template <int width, KvElement element>
class TokenFetch {
  public:
    static constexpr bool copies = copies_run_alone && element == KvElement::F16;
    using Rows = __half[split_tokens][width + 8];

    __device__ void start(Rows& to, const void* cache, const void* scales, const std::int32_t* page,
                          int head_dim, int begin, int tile, int first, int last) {
        const bool inside = begin + at_.piece * numbers < head_dim;
        const int piece = begin / numbers + at_.piece;
#pragma unroll
        for (int n = 0; n < each; ++n) {
            const int token = at_.row + n * at_.step, from = min(max(token, first - tile), last - tile);
            const CachedPage<element> cached(cache, scales, page[from / kv_page_tokens], head_dim);
            const bool wanted = inside && from == token;
            if constexpr (copies) {
                copy_alone(&to[token][at_.piece * 8],
                           cached.data + from % kv_page_tokens * head_dim + (inside ? piece * 8 : 0), wanted);
            } else {
                raw_[n] = {};
                if (wanted) raw_[n] = cached.load(from % kv_page_tokens, piece, head_dim);
            }
        }
    }
    __device__ void store(Rows& to) const {
        if constexpr (!copies) {
#pragma unroll
            for (int n = 0; n < each; ++n) {
#pragma unroll
                for (int i = 0; i < numbers / 8; ++i)
                    *reinterpret_cast<uint4*>(&to[at_.row + n * at_.step][at_.piece * numbers + i * 8]) =
                        CachedPage<element>::halves(raw_[n], i);
            }
        }
    }

  private:
    static constexpr int numbers = CachedPage<element>::piece_numbers;
    using Place = PiecePlace<width, numbers>;
    static constexpr int each = split_tokens / Place::step;

    Place at_;
    typename CachedPage<element>::Raw raw_[copies ? 1 : each];
};
}  // namespace voltpile::llm
