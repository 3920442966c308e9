// Attention over the paged KV cache on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.h"
#include "llm/ops/batch_view.h"
#include "llm/ops/half_limit.h"
#include "llm/ops/operands.h"

namespace voltpile::llm {

// The arguments of all launchers below. Pointers are to GPU memory and are not owned.
struct AttentionArgs {
    const void* qkv = nullptr;  // fp16 (rows, (heads + 2 kv_heads) * head_dim)
    void* out = nullptr;        // fp16 (rows, out_columns)
    KvLayer cache;
    int out_columns = 0;
    int heads = 0;
    int kv_heads = 0;
    int head_dim = 0;
    float scale = 1;
    float soft_cap = 0;               // see AttentionSettings
    const float* sinks = nullptr;     // see AttentionSettings
    float limit = half_limit(false);  // applied to the output
    // Kernels of single rows with a quantized cache rotate blocks of this many numbers of each head of the
    // output, see KvElement. 1: they do not; launch_rotate_heads() does it for heads above most_rotated_dim.
    int rotation = 1;
    int window = 0;
    BatchView batch;
    float* scratch = nullptr;
};

// The context is divided into splits of a fixed size, each with its own softmax. The splits of a span are
// joined in order, and then the spans.
//
// Decode: sequences with one row use one block per span or, if those would be few, per split. What several
// blocks have is joined by a second kernel or, of few splits on compute capability 9.0, by a cluster of them.
// Prefill: other sequences use tiles of 64 rows (of one head, or 32 or 16 rows of 2 or 4 heads that share a
// KV head) with one block per span, and a second kernel joins the spans. Both use the same tensor core
// products and sum in the same order, so a row's result is bit-identical in either and for any other rows of
// the batch. On compute capability 9.0, launch_warpgroup_attention() takes the prompts, or
// launch_invariant_attention() if results must not depend on the batch, if warpgroups_take() them. Empty rows
// become 0. If tensor_cores_take(head_dim) is false, a simpler and slower kernel works row by row.
constexpr int split_tokens = 128;
constexpr int span_splits = 8, span_tokens = span_splits * split_tokens;
constexpr int splits_of(int context) {
    return context > split_tokens ? (context + split_tokens - 1) / split_tokens : 1;
}
constexpr int spans_of(int context) {
    return (splits_of(context) + span_splits - 1) / span_splits;
}
// How prefill divides the context among blocks.
struct Spans {
    int count = 1;
    int tokens = span_tokens;  // of each; a multiple of split_tokens
};
// Returns the scratch memory that one sequence needs; scratch_bytes below must be at least this.
std::size_t decode_scratch_bytes_per_sequence(const AttentionArgs& args);
// Each of these enqueues the attention of all rows that it is responsible for, and may launch several
// kernels.
// prepare: nullptr if Ops::rope_and_store has run, otherwise its settings: attention does its work, too, if
// prepares_heads().
void launch_decode_attention(const AttentionArgs& args, const QkvSettings* prepare, std::size_t scratch_bytes,
                             const Stream& stream);
void launch_prompt_attention(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream);
void launch_plain_attention(const AttentionArgs& args, const Stream& stream);
// The same as launch_prompt_attention(), several times as fast, but sums in another order. Only on GPUs of
// compute capability 9.0 that have `multiprocessors`, if VOLTPILE_SM90 is 1 and warpgroups_take(args), with
// an fp16 cache (sm90/expanded_cache.h).
void launch_warpgroup_attention(const AttentionArgs& args, std::size_t scratch_bytes, int multiprocessors,
                                const Stream& stream);
// The same as launch_prompt_attention(), to the same bits, where launch_warpgroup_attention() may run. Needs
// no scratch.
void launch_invariant_attention(const AttentionArgs& args, const Stream& stream);
// Join the results in scratch of sequences, or of rows, beginning with `first`. The launchers above call
// them.
void launch_join_parts(const AttentionArgs& args, int splits_each, int first, int sequences,
                       const Stream& stream);
void launch_join_spans(const AttentionArgs& args, const Spans& spans, int first, int rows,
                       const Stream& stream);
constexpr bool warpgroups_take(const AttentionArgs& args) {
    return (args.head_dim == 64 || args.head_dim == 128) && args.scale > 0 && args.soft_cap == 0;
}
bool prepares_heads(const AttentionArgs& args, const QkvSettings& settings);
constexpr int most_rotated_dim = 128;  // the head_dim up to which kernels of single rows rotate
// Returns whether the tensor core kernels support this head_dim.
constexpr bool tensor_cores_take(int head_dim) {
    return head_dim == 16 || head_dim == 32 || head_dim == 64 || head_dim == 80 || head_dim == 96 ||
           head_dim == 128 || head_dim == 256;
}

}  // namespace voltpile::llm
