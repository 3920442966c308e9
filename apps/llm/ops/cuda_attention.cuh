// What the attention kernels share.
#pragma once

#include <mma.h>

#include "device/launch.cuh"
#include "llm/ops/cuda_attention.h"

namespace voltpile::llm {

using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

__device__ inline std::int64_t qkv_row(const AttentionArgs& a, int row) {
    return static_cast<std::int64_t>(row) * (a.heads + 2 * a.kv_heads) * a.head_dim;
}
// First element of a page's 16 tokens of a KV head.
__device__ inline std::int64_t page_begin(const AttentionArgs& a, int sequence, int page, int kv_head) {
    const std::int64_t at =
        a.batch.page_table[static_cast<std::int64_t>(sequence) * a.batch.max_pages + page];
    return (at * a.kv_heads + kv_head) * (kv_page_tokens * a.head_dim);
}
__device__ inline int first_position(const AttentionArgs& a, int position) {
    return a.window > 0 ? max(0, position - a.window + 1) : 0;
}
// Where a head's result goes.
__device__ inline __half* out_head(const AttentionArgs& a, int row, int head) {
    return static_cast<__half*>(a.out) + static_cast<std::int64_t>(row) * a.out_columns + head * a.head_dim;
}
// The row of a sequence that has only one, else -1.
__device__ inline int single_row(const AttentionArgs& a, int sequence) {
    const int row = a.batch.row_begin[sequence];
    const bool single = a.batch.row_begin[sequence + 1] - row == 1 && a.batch.sequence[row] == sequence;
    return single ? row : -1;
}

}  // namespace voltpile::llm
