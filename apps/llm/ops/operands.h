// Arguments of the operations in ops.h that are plain data. GPU kernels include this file instead of ops.h,
// because they compile much faster without the standard headers behind it.
#pragma once

#include <cstdint>

#include "llm/model/kv_element.h"
#include "llm/model/layer_blocks.h"
#include "llm/model/rope_style.h"

namespace voltpile::llm {

// The place of a non-finite sum, for the error message.
struct SentinelPlace {
    int layer = 0;
    int operation = 0;  // index into the decoder's names of operations
};

// The steps between the QKV product and attention: bias, norm of each head, RoPE. The arrays are fp32 in
// device memory; nullptr leaves a step out.
struct QkvSettings {
    int heads = 0;     // of this rank
    int kv_heads = 0;  // of this rank
    int head_dim = 0;
    const float* q_bias = nullptr;  // (heads * head_dim)
    const float* k_bias = nullptr;  // (kv_heads * head_dim)
    const float* v_bias = nullptr;
    const float* q_norm = nullptr;  // (head_dim): RMS norm of each head before RoPE (Qwen 3)
    const float* k_norm = nullptr;
    float norm_eps = 0;
    // (rows, 2): the sums of squares of all queries and of all keys of a row, on all ranks together, for a
    // norm of all heads together (OLMo 2). q_norm and k_norm then have a number for each element of this
    // rank's heads, and there are no biases. nullptr: a norm of each head.
    const float* row_squares = nullptr;
    int norm_heads = 0;  // heads in these sums
    int norm_kv_heads = 0;
    RopeStyle rope_style = RopeStyle::HalfSplit;  // rotates the pairs (i, i + rope_dims / 2) or (2i, 2i + 1)
    int rope_dims = 0;  // even; only the first rope_dims dimensions of each head are rotated
    // (rope_dims / 2): radians per position, with RoPE scaling applied. The angle, position * frequency, is
    // rounded to fp32.
    const float* rope_frequencies = nullptr;
    float rope_magnitude = 1;  // factor of cos and sin (YaRN)
};

// The columns of each head in a row: head h has `count` columns from begin + h * stride on. A stride may be
// longer than a row; the heads of a row are then that far apart in memory.
struct HeadColumns {
    std::int64_t begin = 0;
    std::int64_t stride = 0;
    std::int64_t count = 0;
};

// See Ops::attention.
struct AttentionSettings {
    float scale = 1;
    int window = 0;      // 0: none
    float soft_cap = 0;  // 0: none
    // (heads): a score of each head, not scaled, that takes part in its softmax like a token with the value
    // 0. fp32 in device memory; nullptr: there are none.
    const float* sinks = nullptr;
};

// The keys and values of one layer, in pages of kv_page_tokens tokens. keys, values: (pages, kv_heads,
// kv_page_tokens), each with kv_number_bytes(). If keys == values, the values are the keys (latent
// attention), which are stored once. key_scales, value_scales, if the element is quantized: of the same
// shape, each with kv_scale_bytes(). The token at position p of a sequence is in page page_table[p /
// kv_page_tokens], at index p % kv_page_tokens.
struct KvLayer {
    void* keys = nullptr;
    void* values = nullptr;
    KvElement element = KvElement::F16;
    void* key_scales = nullptr;
    void* value_scales = nullptr;
};

// Returns how many numbers of a head are rotated together (see KvElement); 1 means no rotation. The first
// rope_dims columns of a head's output are unspecified where values are keys, and stay apart.
constexpr int rotation_of(const QkvSettings& settings, const KvLayer& cache) {
    if (!is_quantized(cache.element)) return 1;
    return kv_rotation(settings.head_dim, cache.values == cache.keys ? settings.rope_dims : 0);
}

// How a layer's router chooses the experts of a row. The arrays are fp32 in device memory.
struct RouterSettings {
    const float* weight = nullptr;       // (experts, columns)
    const float* shared_gate = nullptr;  // (columns): weighs the shared expert; nullptr: its weight is 1
    int experts = 0;
    int held_begin = 0;       // this rank has the experts from here on, Routing::experts of them
    int used = 0;             // experts of each row
    bool normalized = false;  // the weights of a row's experts are divided by their sum
    bool sigmoid = false;     // scores: the sigmoids of logits instead of their softmax over all experts
    const float* choice_bias = nullptr;  // (experts): of a sigmoid router; nullptr: none
    int groups = 1;                      // of adjacent experts, of equal size
    int used_groups = 1;                 // groups that a row's experts come from
    float scale = 1;                     // of the weights of a row's experts
    const float* bias = nullptr;         // (experts): added to the logits; nullptr: there is none
};

// The experts of each row, in device memory that the caller owns (routing.h). The pairs of a row and one of
// its experts are sorted by expert, then by row.
struct Routing {
    int experts = 0;      // on this rank
    int all_experts = 0;  // of all ranks: each has rows * used / all_experts pairs on average
    int used = 0;
    std::int32_t* expert = nullptr;  // (rows, used), the best first, from 0; -1: on another rank, or no row
    float* weight = nullptr;         // (rows, used)
    float* shared = nullptr;         // (rows): weight of the shared expert; nullptr: there is none
    bool adds = false;               // sum_experts adds to its output; only without a shared expert
    std::int32_t* place = nullptr;   // (rows, used): index of the pair in the sorted order
    std::int32_t* row = nullptr;     // (rows * used): row of each sorted pair
    std::int32_t* begin =
        nullptr;  // (experts + 1): expert e has the sorted pairs begin[e] to begin[e + 1] - 1
};

}  // namespace voltpile::llm
