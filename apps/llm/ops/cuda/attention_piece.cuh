// How attention kernels whose query heads share a KV head divide the rows of sequences among blocks.
#pragma once

#include "llm/ops/cuda/attention.cuh"

namespace voltpile::llm {

// Rows of one sequence for one KV head: query head h of token t is row t * group + h. A block computes the
// rows first_row to first_row + block_rows - 1, of which those from `rows` on do not exist.
struct Piece {
    int sequence = -1;  // -1: no work
    int batch_row = 0;  // of the sequence's first token in the batch
    int position = 0;   // of that token
    int rows = 0;
    int first_row = 0;
};

// Returns the piece of the block with index `block`, of all sequences with at least least_tokens rows in the
// batch. A warp calls it.
template <int block_rows>
__device__ inline Piece find_piece(const AttentionArgs& a, int block, int least_tokens) {
    const int lane = static_cast<int>(threadIdx.x) % 32, group = a.heads / a.kv_heads;
    for (int first = 0; first < a.batch.sequences; first += 32) {
        const int s = first + lane;
        int begin = 0, tokens = 0, position = 0;
        if (s < a.batch.sequences) {
            begin = a.batch.row_begin[s];
            tokens = a.batch.row_begin[s + 1] - begin;
            if (tokens >= least_tokens) {
                position = a.batch.position[begin];
                if (a.batch.sequence[begin] != s) tokens = 0;
            } else {
                tokens = 0;
            }
        }
        const int blocks = (tokens * group + block_rows - 1) / block_rows;
        int end = blocks;  // of the sequence's blocks
#pragma unroll
        for (int offset = 1; offset < 32; offset *= 2) {
            const int before = __shfl_up_sync(0xffffffffu, end, offset);
            if (lane >= offset) end += before;
        }
        const unsigned later = __ballot_sync(0xffffffffu, end > block);
        if (later == 0) {
            block -= __shfl_sync(0xffffffffu, end, 31);
            continue;
        }
        const int from = __ffs(static_cast<int>(later)) - 1;
        // The last rows start first, because they have the longest contexts.
        const int first_row = (end - 1 - block) * block_rows;
        return {__shfl_sync(0xffffffffu, s, from), __shfl_sync(0xffffffffu, begin, from),
                __shfl_sync(0xffffffffu, position, from), __shfl_sync(0xffffffffu, tokens, from) * group,
                __shfl_sync(0xffffffffu, first_row, from)};
    }
    return {};
}

// Sets the output of empty rows to 0. `threads` threads of each of `blocks` blocks call it.
__device__ inline void clear_empty_rows(const AttentionArgs& a, int thread, int threads, int block,
                                        int blocks) {
    for (int row = block; row < a.batch.rows; row += blocks) {
        if (a.batch.sequence[row] >= 0) continue;
        for (int i = thread; i < a.heads * a.head_dim; i += threads) out_head(a, row, 0)[i] = __half(0.0f);
    }
}

}  // namespace voltpile::llm
