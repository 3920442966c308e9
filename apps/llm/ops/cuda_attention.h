// Attention over the pages of keys and values, on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
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
    int window = 0;
    BatchView batch;
    float* scratch = nullptr;
};

// The context is cut into splits of a fixed size, each with a softmax of its own, which are joined in order.
// Sequences with one row: a block for each split, and a second kernel to join them. Others: tiles of 64 rows,
// which go through the splits. Both take the same tensor core products and sums in the same order, so that a
// row's result is the same to the bit in either, and whatever else is in the batch. Empty rows become 0.
// Heads of a width that tensor_cores_take() refuses go a simpler and slower way, row by row.
constexpr int split_tokens = 128;
std::size_t decode_scratch_bytes_per_sequence(const AttentionArgs& args);
void launch_decode_attention(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream);
void launch_prompt_attention(const AttentionArgs& args, const Stream& stream);
void launch_plain_attention(const AttentionArgs& args, const Stream& stream);
constexpr bool tensor_cores_take(int head_dim) {
    return head_dim == 16 || head_dim == 32 || head_dim == 64 || head_dim == 80 || head_dim == 96 ||
           head_dim == 128;
}

}  // namespace voltpile::llm
