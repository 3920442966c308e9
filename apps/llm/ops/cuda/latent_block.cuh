// Latent attention: the division of its work among blocks, and a block's shared memory. All query heads share
// one KV head, and the values are the latent part of the keys. A block takes up to 16, 32 or 64 rows of a
// sequence (Piece) and a part of the context. Each tile of tokens passes through shared memory once, for
// scores and for sums of values.
#pragma once

#include <mma.h>

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/attention_piece.cuh"
#include "llm/ops/cuda/latent_attention.h"

namespace voltpile::llm {

constexpr int latent_pieces = latent_key / 8;  // of 16 bytes
constexpr int latent_tokens = 32;              // of a tile
constexpr int latent_page_pieces = kv_page_tokens * latent_pieces;
constexpr int latent_stride = latent_key + 8;           // of queries and latent vectors, in halves
constexpr int latent_score_stride = latent_tokens + 8;  // also of weights
constexpr int latent_warps = 8, latent_threads = 32 * latent_warps;
constexpr int latent_key_parts = 4;                              // of a score's sum, by different warps
constexpr int latent_warp_values = latent_value / latent_warps;  // columns of a warp
constexpr int latent_result_stride = latent_warp_values + 4;

using LatentTile = __half[latent_tokens][latent_stride];

template <int row_tiles, int stages>
struct LatentShared {
    static constexpr int rows = 16 * row_tiles;
    __half query[rows][latent_stride];
    LatentTile tiles[stages];
    float score[latent_key_parts][rows][latent_score_stride];
    __half weight[rows][latent_score_stride];
    float factor[rows];   // of what came before the tile
    SplitSum sums[rows];  // of the block's part, at the end
};

// Tokens of each part of a context that has at most `parts` of them: equal numbers of whole tiles.
__device__ inline int tokens_of_part(int context, int parts) {
    const int tiles = (context + latent_tokens - 1) / latent_tokens;
    return (tiles + parts - 1) / parts * latent_tokens;
}

// Returns the piece of the block, if its sequence takes part in the launch.
template <int block_rows>
__device__ inline Piece latent_piece(const AttentionArgs& a, const LatentShare& share) {
    const int block = static_cast<int>(blockIdx.x);
    if (share.pieces == 0) return find_piece<block_rows>(a, block, share.least_tokens);
    const int sequence = block / share.pieces, first_row = block % share.pieces * block_rows;
    if (sequence >= a.batch.sequences) return {};
    const int begin = a.batch.row_begin[sequence], tokens = a.batch.row_begin[sequence + 1] - begin;
    if (tokens < 1 || tokens > share.most_tokens || tokens * a.heads <= first_row) return {};
    if (a.batch.sequence[begin] != sequence) return {};
    return {sequence, begin, a.batch.position[begin], tokens * a.heads, first_row};
}

// What a block sees of its part of the context. Positions.
struct LatentView {
    int part_tokens;  // of each part of the sequence's context
    int first, last;  // that any row sees; none if first > last
    int common_last;  // the last one that all rows see

    __device__ LatentView(const AttentionArgs& a, const Piece& piece, int block_rows, int parts) {
        const int last_row = min(piece.first_row + block_rows, piece.rows) - 1;
        part_tokens = tokens_of_part(piece.position + piece.rows / a.heads, parts);
        first = static_cast<int>(blockIdx.y) * part_tokens;
        last = min(piece.position + last_row / a.heads, first + part_tokens - 1);
        common_last = min(piece.position + piece.first_row / a.heads, last);
    }
};

// The result of a row and head over a part of the context in scratch memory: a SplitSum and, from
// latent_sum_begin on, the weighted sum of values. at: LatentShare::place().
constexpr int latent_sum_begin = 4;
static_assert(latent_part_floats == latent_sum_begin + latent_value);
__device__ inline float* latent_part(const AttentionArgs& a, int at, int head, int part, int parts) {
    return a.scratch + ((static_cast<std::int64_t>(at) * a.heads + head) * parts + part) * latent_part_floats;
}

// Brings the latent vectors of the tile from position `begin` on into shared memory; those behind `last`
// become 0. start() issues the loads and store() completes them, as in TokenFetch.
class LatentFetch {
  public:
    __device__ void start(const AttentionArgs& a, int sequence, int begin, int last, LatentTile& to) {
        const auto page_at = [&](int index) {
            const int page = min(begin / kv_page_tokens + index, last / kv_page_tokens);
            return static_cast<const __half*>(a.cache.keys) +
                   page_index(a, sequence, page, 0) * (kv_page_tokens * latent_key);
        };
        const __half* const pages[2] = {page_at(0), page_at(1)};
#pragma unroll
        for (int n = 0; n < each; ++n) {
            const int i = piece_of(n), token = i / latent_pieces;
            const bool wanted = begin + token <= last, second = i >= latent_page_pieces;
            const __half* from = second ? pages[1] + (i - latent_page_pieces) * 8 : pages[0] + i * 8;
            if constexpr (copies_run_alone) {
                copy_alone(place(to, i), from, wanted);
            } else {
                raw_[n] = wanted ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
            }
        }
    }
    __device__ void store(LatentTile& to) const {
        if constexpr (!copies_run_alone) {
#pragma unroll
            for (int n = 0; n < each; ++n) *reinterpret_cast<uint4*>(place(to, piece_of(n))) = raw_[n];
        }
    }

  private:
    static constexpr int each = latent_tokens * latent_pieces / latent_threads;
    static_assert(latent_tokens == 2 * kv_page_tokens);
    static_assert(latent_tokens * latent_pieces % latent_threads == 0);

    __device__ static int piece_of(int n) {
        return static_cast<int>(threadIdx.x) + n * latent_threads;
    }
    __device__ static __half* place(LatentTile& to, int i) {
        return &to[i / latent_pieces][i % latent_pieces * 8];
    }

    uint4 raw_[copies_run_alone ? 1 : each];
};

}  // namespace voltpile::llm
