// The steps between the QKV product and attention for the heads of a row: bias, norm, RoPE.
#pragma once

#include "llm/ops/batch_view.h"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/operands.h"

namespace voltpile::llm {

// Computes sine and cosine within 3e-7 for angles up to 2^24 radians. Unlike sincosf it needs no local memory
// to reduce large angles: it counts in half turns, with 1 / pi as a sum of two floats.
__device__ inline void sincos_of(float angle, float* sine, float* cosine) {
    constexpr float inverse_pi = 0x1.45f306p-2f, inverse_pi_rest = 0x1.b9391p-27f;
    const float half_turns = __fmul_rn(angle, inverse_pi);
    const float rest = fmaf(angle, inverse_pi_rest, fmaf(angle, inverse_pi, -half_turns));
    sincospif(half_turns - 2 * rintf(half_turns / 2) + rest, sine, cosine);
}

// Computes the cosine (x) and sine (y) by which each pair of dimensions of a token's heads is rotated, times
// the magnitude. turns: shared memory of rope_dims / 2. The threads of the block share the work; nothing here
// depends on kernels of this pass.
__device__ inline void fill_turns(const QkvSettings& s, int position, float2* turns) {
    for (int i = static_cast<int>(threadIdx.x); i < s.rope_dims / 2; i += static_cast<int>(blockDim.x)) {
        float sine, cosine;
        sincos_of(static_cast<float>(position) * s.rope_frequencies[i], &sine, &cosine);
        turns[i] = make_float2(cosine * s.rope_magnitude, sine * s.rope_magnitude);
    }
}

// Which head of a row: query head `index`, or key or value of KV head `index`.
struct HeadKind {
    bool is_query, is_key;
    int index;
};

// The bias, norm and RoPE of a head of at most 32 * each numbers, see Ops::rope_and_store, by a warp. load()
// issues the loads from global memory, so that those of several heads can overlap.
template <int each>
class PreparedHead {
  public:
    // from: the head as the product left it.
    __device__ __forceinline__ void load(const __half* from, const QkvSettings& s, const HeadKind& head) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const float* const bias = head.is_query ? s.q_bias : head.is_key ? s.k_bias : s.v_bias;
        const float* const norm = norm_of(s, head);
        const int of_bias = head.index * s.head_dim, of_norm = s.row_squares != nullptr ? of_bias : 0;
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int at = lane + 32 * i;
            const bool inside = at < s.head_dim;
            value_[i] = inside ? from[at] : __half(0.0f);
            bias_[i] = inside && bias != nullptr ? bias[of_bias + at] : 0.0f;
            norm_[i] = inside && norm != nullptr ? norm[of_norm + at] : 0.0f;
        }
    }

    // Sets v (head_dim numbers in shared memory), which is complete for all lanes on return. turns:
    // fill_turns(). limit: half_limit().
    __device__ __forceinline__ void finish(const QkvSettings& s, const HeadKind& head, int row, float limit,
                                           const float2* turns, float* v) const {
        const int lane = static_cast<int>(threadIdx.x) % 32, dim = s.head_dim;
        float x[each];
        float sum = 0;
#pragma unroll
        for (int i = 0; i < each; ++i) {
            x[i] = limited(__half2float(value_[i]), limit) + bias_[i];
            sum = fmaf(x[i], x[i], sum);
        }
        if (norm_of(s, head) != nullptr) {
            int count = dim;
            if (s.row_squares != nullptr) {
                count = dim * (head.is_key ? s.norm_kv_heads : s.norm_heads);
                sum = s.row_squares[2 * row + (head.is_key ? 1 : 0)];
            } else {
                for (int offset = 16; offset > 0; offset /= 2)
                    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
            }
            const float scale = 1.0f / sqrtf(sum / static_cast<float>(count) + s.norm_eps);
#pragma unroll
            for (int i = 0; i < each; ++i) x[i] *= scale * norm_[i];
        }
#pragma unroll
        for (int i = 0; i < each; ++i)
            if (lane + 32 * i < dim) v[lane + 32 * i] = x[i];
        __syncwarp();
        const int rotated = head.is_query || head.is_key ? s.rope_dims : 0;
        for (int i = lane; i < rotated / 2; i += 32) {
            // HalfSplit pairs the two halves of the rotated dimensions.
            const int a = s.rope_style == RopeStyle::Interleaved ? 2 * i : i;
            const int b = s.rope_style == RopeStyle::Interleaved ? 2 * i + 1 : i + rotated / 2;
            const float2 turn = turns[i];
            const float first = v[a], second = v[b];
            // Intrinsics fix the rounding, so that it is the same in all kernels.
            v[a] = fmaf(first, turn.x, -__fmul_rn(second, turn.y));
            v[b] = fmaf(second, turn.x, __fmul_rn(first, turn.y));
        }
        __syncwarp();
    }

  private:
    __device__ static const float* norm_of(const QkvSettings& s, const HeadKind& head) {
        return head.is_query ? s.q_norm : head.is_key ? s.k_norm : nullptr;
    }

    __half value_[each];
    float bias_[each], norm_[each];
};

// Returns the index of a token and KV head in the cache, in units of a head's keys or values.
__device__ inline std::int64_t token_in_cache(const BatchView& batch, int sequence, int position,
                                              int kv_heads, int kv_head) {
    const int page =
        batch.page_table[static_cast<std::int64_t>(sequence) * batch.max_pages + position / kv_page_tokens];
    return (static_cast<std::int64_t>(page) * kv_heads + kv_head) * kv_page_tokens +
           position % kv_page_tokens;
}

}  // namespace voltpile::llm
