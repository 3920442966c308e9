// The attention of 16 rows of a prompt by one warp, whose scores stay in registers: the same products and
// sums, in the same order, as those of attention_prompt.cu and of decoding, to the same bits.
#pragma once

#include "llm/ops/cuda/async_copy.cuh"
#include "llm/ops/cuda/attention_piece.cuh"

namespace voltpile::llm {

constexpr int warp_rows = 16;

// d += a b for 16 rows and columns of a, 8 columns of b (PTX ISA: mma.m16n8k16).
__device__ __forceinline__ void multiply_halves(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                std::uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Loads four matrices of 8 x 8 halves; lane l has the address of row l % 8 of matrix l / 8. Lane 4 g + t gets
// numbers 2 t and 2 t + 1 of row g of each, or of column g if transposed.
template <bool transposed>
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], const __half* from) {
    const std::uint32_t at = shared_address(from);
    if constexpr (transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(at));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(at));
}

// Lane 4 g + t has rows g and g + 8 of the warp.
template <int width>
class InvariantRows {
    using Tile = __half[split_tokens][width + 8];
    static constexpr int groups = split_tokens / 8, outputs = width / 8;  // of 8 tokens, of 8 columns

  public:
    // row: the warp's first among those of `piece`, from which the block's rows count.
    __device__ InvariantRows(const AttentionArgs& a, const Piece& piece, int row) : a_(a), lane_(lane()) {
        const int group = a.heads / a.kv_heads;
        const auto position_of = [&](int r) { return piece.position + min(r, piece.rows - 1) / group; };
        first_ = position_of(row);
        last_ = row < piece.rows ? position_of(row + warp_rows - 1) : -1;
#pragma unroll
        for (int r = 0; r < 2; ++r) position_[r] = position_of(row + lane_ / 4 + 8 * r);
        begin_span();
    }
    // Whether any row sees a token of the split.
    __device__ __forceinline__ bool sees(int split) const {
        return split <= last_ && split + split_tokens > first_position(a_, first_);
    }
    // Of the warp's rows in `query`.
    template <int rows>
    __device__ __forceinline__ void score(const __half (&query)[rows][width + 8], int row, const Tile& keys) {
#pragma unroll
        for (auto& s : score_) s[0] = s[1] = s[2] = s[3] = 0;
        const __half* const q = &query[row + lane_ % 16][lane_ / 16 * 8];
        const __half* const k = &keys[lane_ / 16 * 8 + lane_ % 8][lane_ / 8 % 2 * 8];
#pragma unroll
        for (int d = 0; d < width; d += 16) {
            std::uint32_t of_rows[4];
            load_matrices<false>(of_rows, q + d);
#pragma unroll
            for (int n = 0; n < groups; n += 2) {
                std::uint32_t of_tokens[4];
                load_matrices<false>(of_tokens, k + n * 8 * (width + 8) + d);
                multiply_halves(score_[n], of_rows, of_tokens[0], of_tokens[1]);
                multiply_halves(score_[n + 1], of_rows, of_tokens[2], of_tokens[3]);
            }
        }
    }
    // Turns the scores into weights, see soften_split().
    __device__ __forceinline__ void soften(int split, float scale) {
        const bool whole = first_ >= split + split_tokens - 1 && first_position(a_, last_) <= split;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            if (whole)
                soften_row<true>(r, split, scale);
            else
                soften_row<false>(r, split, scale);
        }
    }
    // Adds the weighted values to the span's sums.
    __device__ __forceinline__ void add(const Tile& values) {
        float part[outputs][4] = {};
        const __half* const v = &values[lane_ / 8 % 2 * 8 + lane_ % 8][lane_ / 16 * 8];
#pragma unroll
        for (int k = 0; k < groups; k += 2) {
            const std::uint32_t weights[4] = {weight_[k][0], weight_[k][1], weight_[k + 1][0],
                                              weight_[k + 1][1]};
#pragma unroll
            for (int n = 0; n < outputs; n += 2) {
                std::uint32_t of_tokens[4];
                load_matrices<true>(of_tokens, v + k * 8 * (width + 8) + n * 8);
                multiply_halves(part[n], weights, of_tokens[0], of_tokens[1]);
                multiply_halves(part[n + 1], weights, of_tokens[2], of_tokens[3]);
            }
        }
#pragma unroll
        for (int n = 0; n < outputs; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) sum_[n][i] = join_value(sum_[n][i], part[n][i], factors_[i / 2]);
        }
    }
    // Joins the span with those before. joined: the thread's memory, with `stride` floats from one number to
    // the next, for all numbers of the sums.
    __device__ __forceinline__ void end_span(float* joined, int stride) {
        JoinFactors factors[2];
        bool begins[2], passes[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            begins[r] = sees_nothing(all_[r]);
            passes[r] = sees_nothing(of_span_[r]);
            if (begins[r])
                all_[r] = of_span_[r];
            else if (!passes[r])
                factors[r] = join_split(all_[r], of_span_[r]);
        }
#pragma unroll
        for (int n = 0; n < outputs; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float& before = joined[(n * 4 + i) * stride];
                if (begins[i / 2])
                    before = sum_[n][i];
                else if (!passes[i / 2])
                    before = join_value(before, sum_[n][i], factors[i / 2]);
            }
        }
    }
    __device__ __forceinline__ void begin_span() {
#pragma unroll
        for (auto& s : sum_) s[0] = s[1] = s[2] = s[3] = 0;
        of_span_[0] = of_span_[1] = {-INFINITY, 0};
    }
    // The only span is all.
    __device__ __forceinline__ void end_only_span() {
        all_[0] = of_span_[0];
        all_[1] = of_span_[1];
    }
    // The sums over all spans are in `joined`.
    __device__ __forceinline__ void take(const float* joined, int stride) {
#pragma unroll
        for (int n = 0; n < outputs; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) sum_[n][i] = joined[(n * 4 + i) * stride];
        }
    }
    // row: as in the constructor.
    __device__ __forceinline__ void store(const Piece& piece, int row, int kv_head) const {
        const int group = a_.heads / a_.kv_heads;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int mine = row + lane_ / 4 + 8 * r;
            if (mine >= piece.rows) continue;
            const int head = kv_head * group + mine % group;
            const float divisor = denominator(a_, head, all_[r]);
            __half* const out = out_head(a_, piece.batch_row + mine / group, head) + lane_ % 4 * 2;
#pragma unroll
            for (int n = 0; n < outputs; ++n)
                *reinterpret_cast<__half2*>(out + n * 8) =
                    __halves2half2(limited_half(__fdiv_rn(sum_[n][2 * r], divisor), a_.limit),
                                   limited_half(__fdiv_rn(sum_[n][2 * r + 1], divisor), a_.limit));
        }
    }

  private:
    // NaN among the weights must not pass for that.
    __device__ static bool sees_nothing(const SplitSum& sum) {
        return sum.largest == -INFINITY && sum.total == 0;
    }
    // pair[0] = the sum of the pairs, those that differ in the highest bit first.
    template <int half>
    __device__ __forceinline__ static void fold(float (&pair)[groups]) {
#pragma unroll
        for (int n = 0; n < half; ++n) pair[n] = __fadd_rn(pair[n], pair[n + half]);
        if constexpr (half > 1) fold<half / 2>(pair);
    }
    __device__ static int lane() {
        return static_cast<int>(threadIdx.x) % 32;
    }

    // Sums in the order of soften_rows(), in which a lane has tokens 2 l, 2 l + 1, 2 l + 64 and 2 l + 65 and
    // the lanes are added from bit 4 to bit 0. Here bits 1 and 2 of a token are those of t.
    template <bool whole>
    __device__ __forceinline__ void soften_row(int r, int split, float scale) {
        const int column = split + lane_ % 4 * 2, from = first_position(a_, position_[r]), to = position_[r];
        const auto seen = [&](int n, int i) {
            const int at = column + n * 8 + i;
            return whole || (at >= from && at <= to);
        };
        float largest = -INFINITY;
#pragma unroll
        for (int n = 0; n < groups; ++n) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                float& s = score_[n][2 * r + i];
                s = seen(n, i) ? __fmul_rn(s, scale) : -INFINITY;
                largest = fmaxf(largest, s);
            }
        }
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        float pair[groups];
#pragma unroll
        for (int n = 0; n < groups; ++n) {
            float v[2];
#pragma unroll
            for (int i = 0; i < 2; ++i)
                v[i] = seen(n, i) ? power_of_two(__fsub_rn(score_[n][2 * r + i], largest)) : 0.0f;
            pair[n] = __fadd_rn(v[0], v[1]);
            const __half2 two = __floats2half2_rn(v[0], v[1]);
            weight_[n][r] = *reinterpret_cast<const std::uint32_t*>(&two);
        }
        fold<groups / 2>(pair);
        float total = __fadd_rn(pair[0], __shfl_xor_sync(0xffffffffu, pair[0], 2));
        total = __fadd_rn(total, __shfl_xor_sync(0xffffffffu, total, 1));
        factors_[r] = join_split(of_span_[r], {largest, total});
    }

    const AttentionArgs& a_;
    int lane_, first_, last_;  // positions of the warp's rows; last_ is -1 if it has none
    int position_[2];
    SplitSum all_[2] = {{-INFINITY, 0}, {-INFINITY, 0}}, of_span_[2];
    JoinFactors factors_[2];
    float score_[groups][4];
    std::uint32_t weight_[groups][2];
    float sum_[outputs][4];
};

}  // namespace voltpile::llm
