// Attention over the pages of keys and values, on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "llm/ops/half_limit.h"
#include "llm/ops/ops.h"

namespace voltpile::llm {

struct AttentionArgs {
    const void* qkv = nullptr;  // fp16 (rows, (heads + 2 kv_heads) * head_dim)
    void* out = nullptr;        // fp16 (rows, out_columns)
    KvLayer cache;
    int out_columns = 0;
    int heads = 0;
    int kv_heads = 0;
    int head_dim = 0;
    float scale = 1;
    float limit = half_limit(false);  // of results
    int window = 0;
    BatchView batch;
    float* scratch = nullptr;
};

// The context is cut into splits of a fixed size, each with a softmax of its own. The splits of a span are
// joined in order, and then the spans.
// Sequences with one row: a block for each split, and a second kernel to join them. Others: tiles of 64 rows
// (of one head, or up to 32 or 16 of 2 or 4 heads of a KV head, which share its keys and values), with a
// block for each span, and a second kernel to join these. Both take the same tensor core products and sums in
// the same order, so that a row's result is the same to the bit in either, and whatever else is in the batch.
// Empty rows become 0. Heads of a width that tensor_cores_take() refuses go a simpler and slower way, row by
// row.
constexpr int split_tokens = 128;
constexpr int span_splits = 8, span_tokens = span_splits * split_tokens;
constexpr int splits_of(int context) {
    return context > split_tokens ? (context + split_tokens - 1) / split_tokens : 1;
}
constexpr int spans_of(int context) {
    return (splits_of(context) + span_splits - 1) / span_splits;
}
// The scratch memory has room for one sequence at least.
std::size_t decode_scratch_bytes_per_sequence(const AttentionArgs& args);
void launch_decode_attention(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream);
void launch_prompt_attention(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream);
void launch_plain_attention(const AttentionArgs& args, const Stream& stream);
// What the launchers above end with: of sequences, or of rows, from `first` on.
void launch_join_splits(const AttentionArgs& args, int first, int sequences, const Stream& stream);
void launch_join_spans(const AttentionArgs& args, int first, int rows, const Stream& stream);
constexpr bool tensor_cores_take(int head_dim) {
    return head_dim == 16 || head_dim == 32 || head_dim == 64 || head_dim == 80 || head_dim == 96 ||
           head_dim == 128;
}

}  // namespace voltpile::llm
