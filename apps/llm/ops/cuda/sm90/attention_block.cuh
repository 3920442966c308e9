// The work of a prompt attention block and its shared memory.
#pragma once

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/attention_piece.cuh"
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
