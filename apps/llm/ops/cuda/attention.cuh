// Device code that all attention kernels share: indices, the softmax of a split, and joining.
#pragma once

#include "device/launch.cuh"
#include "llm/ops/cuda/attention.h"
#include "llm/ops/cuda/half.cuh"
#include "llm/ops/cuda/kv_element.cuh"
#include "llm/ops/cuda/rotate_blocks.cuh"
#include "llm/ops/cuda/unit_words.cuh"

namespace voltpile::llm {

__device__ inline std::int64_t qkv_row(const AttentionArgs& a, int row) {
    return static_cast<std::int64_t>(row) * (a.heads + 2 * a.kv_heads) * a.head_dim;
}
// Returns the index in the cache of a sequence's page and KV head, in units of kv_page_tokens tokens.
__device__ inline std::int32_t page_index(const AttentionArgs& a, int sequence, int page, int kv_head) {
    const std::int32_t at =
        a.batch.page_table[static_cast<std::int64_t>(sequence) * a.batch.max_pages + page];
    return at * a.kv_heads + kv_head;
}
__device__ inline int first_position(const AttentionArgs& a, int position) {
    return a.window > 0 ? max(0, position - a.window + 1) : 0;
}
// Returns the place of a head's result.
__device__ inline __half* out_head(const AttentionArgs& a, int row, int head) {
    return static_cast<__half*>(a.out) + static_cast<std::int64_t>(row) * a.out_columns + head * a.head_dim;
}
// Returns the row of a sequence with exactly one row, otherwise -1.
__device__ inline int single_row(const AttentionArgs& a, int sequence) {
    const int row = a.batch.row_begin[sequence];
    const bool single = a.batch.row_begin[sequence + 1] - row == 1 && a.batch.sequence[row] == sequence;
    return single ? row : -1;
}

// Returns whether a sequence has several rows.
__device__ inline bool has_prompt(const AttentionArgs& a, int sequence) {
    const int row = a.batch.row_begin[sequence];
    return a.batch.row_begin[sequence + 1] - row > 1 && a.batch.sequence[row] == sequence;
}

// The softmax of one row over one split, and the joining of splits. Exponentials are powers of two, which the
// hardware has; scores are multiplied by log2(e) beforehand. Intrinsics fix the rounding of each operation:
// otherwise the compiler could fuse them in one kernel only, and results would depend on the kernel.
struct SplitSum {
    // The largest score, and the sum of 2^(score - largest). -infinity and 0 if the row sees no token.
    float largest, total;
};
__device__ inline float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
constexpr float log2_e = 1.44269504f;
__device__ inline float softmax_scale(const AttentionArgs& a) {
    return __fmul_rn(a.scale, log2_e);
}

// What a score becomes before its power of two: scale * score or, with a soft cap, cap * tanh(inner * score).
// Intrinsics again, so that all kernels round alike.
struct ScaledScore {
    float scale;
    __device__ float operator()(float score) const { return __fmul_rn(score, scale); }
};
struct CappedScore {
    float inner, cap;  // cap: with the factor log2(e)
    // tanh(x) = sign(x) (1 - 2 / (1 + e^2|x|)) or, where that cancels, the first terms of its series.
    __device__ float operator()(float score) const {
        const float x = __fmul_rn(score, inner), square = __fmul_rn(x, x);
        const float power = power_of_two(__fmul_rn(2 * log2_e, fabsf(x)));
        const float far = copysignf(__fsub_rn(1.0f, __fdividef(2.0f, __fadd_rn(1.0f, power))), x);
        const float near = __fmul_rn(
            x,
            __fmaf_rn(square, __fmaf_rn(square, __fmaf_rn(square, -17.0f / 315, 2.0f / 15), -1.0f / 3), 1));
        return __fmul_rn(cap, square < 0.04f ? near : far);
    }
};
template <bool capped>
__device__ inline auto score_map(const AttentionArgs& a) {
    if constexpr (capped)
        return CappedScore{__fdiv_rn(a.scale, a.soft_cap), __fmul_rn(a.soft_cap, log2_e)};
    else
        return ScaledScore{softmax_scale(a)};
}

// The positions that a row sees, inclusive.
struct SeenRange {
    int first, last;
};

// soften_split(); whole: all rows see the whole split.
template <bool whole, class Map, class Seen>
__device__ inline void soften_rows(const float* score, int score_stride, __half* weight, int weight_stride,
                                   int begin, const Map& map, const Seen& seen, SplitSum (&sums)[4]) {
    constexpr int each = split_tokens / 64;  // pairs of neighbors
    const int column = static_cast<int>(threadIdx.x) % 32 * 2;
    const auto seen_by = [&](const SeenRange& range, int at) {
        return whole || (at >= range.first && at <= range.last);
    };
    float2 value[4][each];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const SeenRange range = seen(r);
        sums[r] = {-INFINITY, 0};
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int at = begin + column + 64 * i;
            float2& v = value[r][i];
            v = *reinterpret_cast<const float2*>(score + r * score_stride + column + 64 * i);
            v.x = seen_by(range, at) ? map(v.x) : -INFINITY;
            v.y = seen_by(range, at + 1) ? map(v.y) : -INFINITY;
            sums[r].largest = fmaxf(sums[r].largest, fmaxf(v.x, v.y));
        }
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
#pragma unroll
        for (int r = 0; r < 4; ++r)
            sums[r].largest = fmaxf(sums[r].largest, __shfl_xor_sync(0xffffffffu, sums[r].largest, offset));
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const SeenRange range = seen(r);
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int at = begin + column + 64 * i;
            const float2& v = value[r][i];
            // A NaN must propagate from here: the maximum ignores it.
            const float x = seen_by(range, at) ? power_of_two(__fsub_rn(v.x, sums[r].largest)) : 0.0f;
            const float y = seen_by(range, at + 1) ? power_of_two(__fsub_rn(v.y, sums[r].largest)) : 0.0f;
            sums[r].total = __fadd_rn(sums[r].total, __fadd_rn(x, y));
            *reinterpret_cast<__half2*>(weight + r * weight_stride + column + 64 * i) =
                __floats2half2_rn(x, y);
        }
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
#pragma unroll
        for (int r = 0; r < 4; ++r)
            sums[r].total = __fadd_rn(sums[r].total, __shfl_xor_sync(0xffffffffu, sums[r].total, offset));
    }
}

// Turns the scores of 4 rows over the split_tokens tokens from `begin` into the weights
// 2^(map(score) - largest), as fp16; 0 for tokens outside seen(row), row 0 to 3. All lanes of the warp
// call it. Weights may overwrite the scores of the same row. Strides: in elements, even.
template <class Map, class Seen>
__device__ inline void soften_split(const float* score, int score_stride, __half* weight, int weight_stride,
                                    int begin, const Map& map, const Seen& seen, SplitSum (&sums)[4]) {
    bool whole = true;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const SeenRange range = seen(r);
        whole = whole && range.first <= begin && range.last >= begin + split_tokens - 1;
    }
    if (whole)
        soften_rows<true>(score, score_stride, weight, weight_stride, begin, map, seen, sums);
    else
        soften_rows<false>(score, score_stride, weight, weight_stride, begin, map, seen, sums);
}

// Returns what a head's weighted sum of values is divided by, once all splits are joined.
__device__ inline float denominator(const AttentionArgs& a, int head, const SplitSum& all) {
    if (a.sinks == nullptr) return all.total;
    return __fadd_rn(all.total, power_of_two(__fsub_rn(__fmul_rn(a.sinks[head], log2_e), all.largest)));
}

// The factors of the values accumulated before and of the new part. join_split() adds `part` to `all`.
struct JoinFactors {
    float before, now;
};
__device__ inline JoinFactors join_split(SplitSum& all, const SplitSum& part) {
    const float most = fmaxf(all.largest, part.largest);
    const float before = all.largest == most ? 1.0f : power_of_two(__fsub_rn(all.largest, most));
    const float now = part.largest == -INFINITY ? 0.0f : power_of_two(__fsub_rn(part.largest, most));
    all = {most, fmaf(now, part.total, __fmul_rn(all.total, before))};
    return {before, now};
}
__device__ inline float join_value(float before, float part, const JoinFactors& factors) {
    return fmaf(factors.now, part, __fmul_rn(before, factors.before));
}

// A column of a row's result, over the splits that have been added.
struct JoinedColumn {
    SplitSum all{-INFINITY, 0};
    float sum = 0;

    __device__ void add(const SplitSum& part, float value) {
        const JoinFactors factors = join_split(all, part);
        sum = join_value(sum, value, factors);
    }
};
__device__ inline float joined_number(const AttentionArgs& a, int head, const JoinedColumn& joined) {
    return __fdiv_rn(joined.sum, denominator(a, head, joined.all));
}
__device__ inline void store_joined(const AttentionArgs& a, int row, int head, int d,
                                    const JoinedColumn& joined) {
    out_head(a, row, head)[d] = limited_half(joined_number(a, head, joined), a.limit);
}

// Writes the numbers number(d) of a head of at most `width` numbers of a row, rounded and then rotated as
// a.rotation says. A warp calls it.
template <int width, class Numbers>
__device__ inline void store_rotated(const AttentionArgs& a, int row, int head, const Numbers& number) {
    rotate_half_head<width / 32>(
        a.head_dim, a.rotation, a.limit, [&](int d) { return limited_half(number(d), a.limit); },
        out_head(a, row, head));
}

// The partial result of a row and head over a split or span, as floats: the largest score, the sum of
// 2^(score - largest), and the weighted sum of values (head_dim).
__host__ __device__ constexpr int part_floats(int head_dim) {
    return head_dim + 2;
}
// Returns partial result `part` of `parts`, for row or sequence `at` of the launch.
__device__ inline float* part_of(const AttentionArgs& a, int at, int head, int part, int parts) {
    return a.scratch +
           ((static_cast<std::int64_t>(at) * a.heads + head) * parts + part) * part_floats(a.head_dim);
}

// The keys or values of a page and KV head.
template <KvElement element>
struct CachedPage;
template <>
struct CachedPage<KvElement::F16> {
    const __half* data;
    __device__ CachedPage(const void* all, const void*, std::int64_t page, int head_dim)
        : data(static_cast<const __half*>(all) + page * (kv_page_tokens * head_dim)) {}
    // A thread loads numbers piece_numbers * piece to piece_numbers * (piece + 1) - 1 of a token; halves()
    // returns 8 of them from 8 * eight on.
    static constexpr int piece_numbers = 8;
    using Raw = uint4;
    __device__ Raw load(int token, int piece, int head_dim) const {
        return *reinterpret_cast<const uint4*>(data + token * head_dim + piece * 8);
    }
    __device__ static uint4 halves(const Raw& raw, int) { return raw; }
    __device__ float number(int token, int d, int head_dim) const {
        return __half2float(data[token * head_dim + d]);
    }
};
template <>
struct CachedPage<KvElement::I8> {
    const std::int8_t* data;
    const float* scales;
    __device__ CachedPage(const void* all, const void* all_scales, std::int64_t page, int head_dim)
        : data(static_cast<const std::int8_t*>(all) + page * (kv_page_tokens * head_dim)),
          scales(static_cast<const float*>(all_scales) + page * kv_page_tokens) {}
    static constexpr int piece_numbers = 16;
    struct Raw {
        uint4 quants;
        float scale;
    };
    __device__ Raw load(int token, int piece, int head_dim) const {
        return {*reinterpret_cast<const uint4*>(data + token * head_dim + piece * 16), scales[token]};
    }
    __device__ static uint4 halves(const Raw& raw, int eight) {
        float value[8];
#pragma unroll
        for (int i = 0; i < 8; ++i)
            value[i] = signed_byte(word(raw.quants, 2 * eight + i / 4), i % 4) * raw.scale;
        return halves_of(value);
    }
    __device__ float number(int token, int d, int head_dim) const {
        return static_cast<float>(data[token * head_dim + d]) * scales[token];
    }
};
template <>
struct CachedPage<KvElement::I4> {
    const uint4* codes;     // of each group
    const __half2* scales;  // `scale` and `least` of each group
    __device__ CachedPage(const void* all, const void* all_scales, std::int64_t page, int head_dim)
        : codes(static_cast<const uint4*>(all) + page * (kv_page_tokens * groups_of_head(head_dim))),
          scales(static_cast<const __half2*>(all_scales) +
                 page * (kv_page_tokens * groups_of_head(head_dim))) {
        static_assert(sizeof(*codes) == kKvGroupBytes);
    }
    static constexpr int piece_numbers = kKvGroup;
    struct Raw {
        uint4 codes;
        __half2 scale;
    };
    __device__ Raw load(int token, int piece, int head_dim) const {
        const int group = token * groups_of_head(head_dim) + piece;
        return {codes[group], scales[group]};
    }
    __device__ static uint4 halves(const Raw& raw, int eight) {
        uint4 value;
        auto* words = reinterpret_cast<uint2*>(&value);
#pragma unroll
        for (int i = 0; i < 2; ++i)
            words[i] =
                scaled_bytes<0>(low_bits(raw.codes, eight / 2, eight % 2 * 2 + i), raw.scale.x, raw.scale.y);
        return value;
    }
    __device__ float number(int token, int d, int head_dim) const {
        const int group = token * groups_of_head(head_dim) + d / piece_numbers, i = d % piece_numbers;
        const int byte = reinterpret_cast<const std::uint8_t*>(codes + group)[i % 16];
        const float2 scale = __half22float2(scales[group]);
        return fmaf(static_cast<float>(i < 16 ? byte & 15 : byte >> 4), scale.x, scale.y);
    }
};

}  // namespace voltpile::llm
