// The work of a prompt attention block and its shared memory.
#pragma once

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/attention_piece.cuh"
#include "llm/ops/cuda/sm90/warpgroup.cuh"

namespace voltpile::llm {

constexpr int block_tokens = 128;  // tokens whose keys or values are in a stage
constexpr int block_pages = block_tokens / kv_page_tokens;
constexpr int warpgroups = 2;  // that compute; one more copies keys and values
constexpr int computing_threads = warpgroups * warpgroup_threads;
constexpr int block_rows = 64 * warpgroups, block_threads = computing_threads + warpgroup_threads;
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
    Swizzled<width, block_rows> query;  // where Rows later puts its results
    Swizzled<width, block_tokens> keys[stages];
    Swizzled<width, block_tokens> values[stages];
    PhaseBarrier keys_there[stages], values_there[stages];
    PhaseBarrier keys_read[stages], values_read[stages];
    Piece piece;

    // A thread calls it, before a barrier.
    __device__ void start_barriers() {
        for (int s = 0; s < stages; ++s) {
            keys_there[s].start(warpgroup_threads);
            values_there[s].start(warpgroup_threads);
            keys_read[s].start(4 * warpgroups);
            values_read[s].start(4 * warpgroups);
        }
    }
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

// Brings the rows of a warpgroup that multiplies to shared memory, each warp its own 16. barrier: of the
// warpgroup (meet_at()).
template <int width>
__device__ __forceinline__ void load_queries(const AttentionArgs& a, int group, int barrier,
                                             Shared<width>& shared) {
    constexpr int pieces = width / 8, step = 32 / pieces, loads = 16 / step;
    const int lane = static_cast<int>(threadIdx.x) % 32, piece = lane % pieces;
    const int warp_row = uniform(static_cast<int>(threadIdx.x) / 32 * 16);
    const int kv_head = static_cast<int>(blockIdx.x);
    const auto* qkv = static_cast<const __half*>(a.qkv);
    uint4 loaded[loads];
#pragma unroll
    for (int i = 0; i < loads; ++i) {
        const int row =
            min(shared.piece.first_row + warp_row + i * step + lane / pieces, shared.piece.rows - 1);
        const int token = row / group, head = kv_head * group + row % group;
        const auto* from = qkv + qkv_row(a, shared.piece.batch_row + token) + head * width;
        loaded[i] = reinterpret_cast<const uint4*>(from)[piece];
    }
#pragma unroll
    for (int i = 0; i < loads; ++i)
        *reinterpret_cast<uint4*>(piece_of<width, block_rows>(
            shared.query, warp_row + i * step + lane / pieces, piece)) = loaded[i];
    show_to_products();
    meet_at(barrier, warpgroup_threads);
}
// score = the products of the warpgroup's rows and the keys of a stage.
template <int width>
__device__ __forceinline__ void begin_score_products(Shared<width>& shared, int warpgroup, int stage,
                                                     float (&score)[64]) {
    const std::uint64_t queries = describe(&shared.query[0][warpgroup * 64][0]);
    const std::uint64_t keys = describe(&shared.keys[stage][0][0][0]);
    keep(score);
    begin_products();
#pragma unroll
    for (int d = 0; d < width; d += 16) {
        const int in_chunk = d % 64 * 2;
        multiply_columns(score, advanced(queries, d / 64 * (block_rows * 128) + in_chunk),
                         advanced(keys, d / 64 * (block_tokens * 128) + in_chunk), d > 0);
    }
    end_of_products();
    keep(score);
}
// sum += the weights times the values of a stage.
template <int width>
__device__ __forceinline__ void begin_value_products(Shared<width>& shared, int stage,
                                                     std::uint32_t (&weight)[block_tokens / 16][4],
                                                     float (&sum)[width / 2]) {
    const std::uint64_t values = describe(&shared.values[stage][0][0][0], block_tokens * 128);
    keep(sum);
    keep(weight);
    begin_products();
#pragma unroll
    for (int k = 0; k < block_tokens; k += 16)
        multiply<false>(sum, weight[k / 16], advanced(values, k * 128));
    end_of_products();
    keep(sum);
}

}  // namespace voltpile::llm
