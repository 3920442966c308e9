// The work of a prompt attention block and its shared memory.
#pragma once

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/attention.cuh"
#include "llm/ops/cuda/sm90/warpgroup.cuh"

namespace voltpile::llm {

constexpr int block_tokens = 128;  // tokens whose keys or values are in a stage
constexpr int block_pages = block_tokens / kv_page_tokens;
constexpr int warpgroups = 2;  // that compute; one more copies keys and values
constexpr int block_rows = 64 * warpgroups, block_threads = (warpgroups + 1) * warpgroup_threads;
constexpr int stages = 2;

// Rows of halves in chunks of 64 columns, each as describe() wants it.
template <int width, int rows>
using Swizzled = __half[width / 64][rows][64];
// Returns the place of 16-byte piece `piece` of a row.
template <int width, int rows>
__device__ __half* piece_of(Swizzled<width, rows>& matrix, int row, int piece) {
    return &matrix[piece / 8][row][swizzled(row, piece % 8) * 8];
}

// Rows of one sequence for one KV head: query head h of token t is row t * group + h. A block computes the
// rows first_row to first_row + block_rows - 1, of which those from `rows` on do not exist.
struct Piece {
    int sequence = -1;  // -1: no work
    int batch_row = 0;  // of the sequence's first token in the batch
    int position = 0;   // of that token
    int rows = 0;
    int first_row = 0;
};

template <int width>
struct Shared {
    Swizzled<width, block_rows> query;  // later the results
    Swizzled<width, block_tokens> keys[stages];
    Swizzled<width, block_tokens> values[stages];
    PhaseBarrier keys_there[stages], values_there[stages];
    PhaseBarrier keys_read[stages], values_read[stages];
    Piece piece;
};

// Returns the first lane's value, so that the compiler knows that it is the same in all lanes.
__device__ __forceinline__ int uniform(int value) {
    return __shfl_sync(0xffffffffu, value, 0);
}

// The stages are filled and read in turn.
struct Turn {
    int stage = 0;
    int parity = 0;
    __device__ void advance() {
        if (++stage < stages) return;
        stage = 0;
        parity ^= 1;
    }
};

// Returns the piece of the block with index `block`, of all sequences with several rows. A warp calls it.
__device__ inline Piece find_piece(const AttentionArgs& a, int block) {
    const int lane = static_cast<int>(threadIdx.x) % 32, group = a.heads / a.kv_heads;
    for (int first = 0; first < a.batch.sequences; first += 32) {
        const int s = first + lane;
        int begin = 0, tokens = 0, position = 0;
        if (s < a.batch.sequences) {
            begin = a.batch.row_begin[s];
            tokens = a.batch.row_begin[s + 1] - begin;
            if (tokens > 1) {
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

// What the rows of a piece see, within the block's span.
struct View {
    int group;                    // query heads of a KV head
    int low, high;                // positions that any row sees
    int common_low, common_high;  // positions that all rows see
    int begin, end;               // stages of block_tokens tokens; none if begin >= end

    __device__ View(const AttentionArgs& a, const Piece& piece, const Spans& spans) {
        group = a.heads / a.kv_heads;
        const int last_row = min(piece.first_row + block_rows, piece.rows) - 1;
        const int oldest = piece.position + piece.first_row / group;
        const int newest = piece.position + last_row / group;
        const int span_begin = static_cast<int>(blockIdx.z) * spans.tokens;
        low = max(first_position(a, oldest), span_begin);
        high = spans.count > 1 ? min(newest, span_begin + spans.tokens - 1) : newest;
        common_low = first_position(a, newest);
        common_high = oldest;
        begin = uniform(low / block_tokens);
        end = uniform(high >= low ? high / block_tokens + 1 : low / block_tokens);
    }
};

}  // namespace voltpile::llm
