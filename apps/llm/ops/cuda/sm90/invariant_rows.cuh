// The attention of 64 rows of a prompt by one warpgroup, whose scores stay in registers: the same products
// and sums, in the same order, as those of attention_prompt.cu and of decoding, to the same bits. This relies
// on products of warpgroups and of warps (mma.m16n8k16) having the same bits on compute capability 9.0, which
// the PTX manual does not promise; tests of batch invariance compare them. A value that is not finite reaches
// all rows of the warpgroup, also those that do not see its token.
#pragma once

#include "llm/ops/cuda/sm90/attention_block.cuh"

namespace voltpile::llm {

// Lane 4 g + t of a warp has rows g and g + 8 of the warp's 16.
template <int width>
class InvariantRows {
  public:
    __device__ InvariantRows(const AttentionArgs& a, const View& view, Shared<width>& shared)
        : a_(a),
          view_(view),
          shared_(shared),
          warpgroup_(uniform(static_cast<int>(threadIdx.x) / warpgroup_threads)),
          lane_(static_cast<int>(threadIdx.x) % 32),
          row_(shared.piece.first_row + uniform(static_cast<int>(threadIdx.x) / 32 * 16)) {
        const Piece& piece = shared.piece;
        const auto position_of = [&](int r) { return piece.position + min(r, piece.rows - 1) / view.group; };
        const int of_warpgroup = piece.first_row + warpgroup_ * 64;
        oldest_ = position_of(of_warpgroup);
        newest_ = of_warpgroup < piece.rows ? position_of(of_warpgroup + 63) : -1;
        first_ = position_of(row_);
        last_ = position_of(row_ + 15);
#pragma unroll
        for (int r = 0; r < 2; ++r) position_[r] = position_of(row_ + lane_ / 4 + 8 * r);
        begin_span();
    }
    // joined: the thread's memory for the sums over earlier spans, computing_threads floats from one number
    // to the next.
    __device__ void compute(float* joined) {
        load_queries(a_, view_.group, 1 + warpgroup_, shared_);
        const float scale = softmax_scale(a_);
        const bool joins = view_.begin * split_tokens / span_tokens != view_.high / span_tokens;
        Turn turn;
#pragma unroll 1
        for (int n = view_.begin; n < view_.end; ++n, turn.advance()) {
            const int split = n * split_tokens, next = split + split_tokens;
            const bool sees = split <= newest_ && next > first_position(a_, oldest_);
            std::uint32_t weight[block_tokens / 16][4];
            shared_.keys_there[turn.stage].wait(turn.parity);
            if (sees) {
                float score[64];
                show_to_products();
                begin_score_products(shared_, warpgroup_, turn.stage, score);
                wait_for_products<0>();
                keep(score);
                if (lane_ == 0) shared_.keys_read[turn.stage].arrive();
                soften(split, scale, score, weight);
            } else if (lane_ == 0) {
                shared_.keys_read[turn.stage].arrive();
            }
            shared_.values_there[turn.stage].wait(turn.parity);
            if (sees) add(turn.stage, weight);
            if (lane_ == 0) shared_.values_read[turn.stage].arrive();
            if (joins && (next % span_tokens == 0 || n + 1 == view_.end)) {
                end_span(joined);
                begin_span();
            }
        }
        if (joins)
            take(joined);
        else
            end_only_span();
        store();
    }

  private:
    static constexpr int groups = split_tokens / 8;  // of 8 tokens
    static constexpr int sums = width / 2;
    static_assert(block_tokens == split_tokens);

    // Turns the scores into weights, see soften_split().
    __device__ __forceinline__ void soften(int split, float scale, float (&score)[64],
                                           std::uint32_t (&weight)[block_tokens / 16][4]) {
        const bool whole = first_ >= split + split_tokens - 1 && first_position(a_, last_) <= split;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            if (whole)
                soften_row<true>(r, split, scale, score, weight);
            else
                soften_row<false>(r, split, scale, score, weight);
        }
    }
    // Adds the weighted values to the span's sums.
    __device__ __forceinline__ void add(int stage, std::uint32_t (&weight)[block_tokens / 16][4]) {
        float part[sums];
#pragma unroll
        for (float& each : part) each = 0;
        show_to_products();
        begin_value_products(shared_, stage, weight, part);
        wait_for_products<0>();
        keep(part);
#pragma unroll
        for (int i = 0; i < sums; ++i) sum_[i] = join_value(sum_[i], part[i], factors_[i % 4 / 2]);
    }
    // Joins the span with those before.
    __device__ __forceinline__ void end_span(float* joined) {
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
        for (int i = 0; i < sums; ++i) {
            const int r = i % 4 / 2;
            float& before = joined[i * computing_threads];
            if (begins[r])
                before = sum_[i];
            else if (!passes[r])
                before = join_value(before, sum_[i], factors[r]);
        }
    }
    __device__ __forceinline__ void begin_span() {
#pragma unroll
        for (float& each : sum_) each = 0;
        of_span_[0] = of_span_[1] = {-INFINITY, 0};
    }
    // The only span is all.
    __device__ __forceinline__ void end_only_span() {
        all_[0] = of_span_[0];
        all_[1] = of_span_[1];
    }
    // The sums over all spans are in `joined`.
    __device__ __forceinline__ void take(const float* joined) {
#pragma unroll
        for (int i = 0; i < sums; ++i) sum_[i] = joined[i * computing_threads];
    }
    __device__ __forceinline__ void store() const {
        const Piece& piece = shared_.piece;
        const int kv_head = static_cast<int>(blockIdx.x);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int mine = row_ + lane_ / 4 + 8 * r;
            if (mine >= piece.rows) continue;
            const int head = kv_head * view_.group + mine % view_.group;
            const float divisor = denominator(a_, head, all_[r]);
            __half* const out = out_head(a_, piece.batch_row + mine / view_.group, head) + lane_ % 4 * 2;
#pragma unroll
            for (int i = 2 * r; i < sums; i += 4)
                *reinterpret_cast<__half2*>(out + i / 4 * 8) =
                    __halves2half2(limited_half(__fdiv_rn(sum_[i], divisor), a_.limit),
                                   limited_half(__fdiv_rn(sum_[i + 1], divisor), a_.limit));
        }
    }
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

    // Sums in the order of soften_rows(), in which a lane has tokens 2 l, 2 l + 1, 2 l + 64 and 2 l + 65 and
    // the lanes are added from bit 4 to bit 0. Here bits 1 and 2 of a token are those of t.
    template <bool whole>
    __device__ __forceinline__ void soften_row(int r, int split, float scale, float (&score)[64],
                                               std::uint32_t (&weight)[block_tokens / 16][4]) {
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
                float& s = score[4 * n + 2 * r + i];
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
                v[i] = seen(n, i) ? power_of_two(__fsub_rn(score[4 * n + 2 * r + i], largest)) : 0.0f;
            pair[n] = __fadd_rn(v[0], v[1]);
            const __half2 two = __floats2half2_rn(v[0], v[1]);
            weight[n / 2][n % 2 * 2 + r] = *reinterpret_cast<const std::uint32_t*>(&two);
        }
        fold<groups / 2>(pair);
        float total = __fadd_rn(pair[0], __shfl_xor_sync(0xffffffffu, pair[0], 2));
        total = __fadd_rn(total, __shfl_xor_sync(0xffffffffu, total, 1));
        factors_[r] = join_split(of_span_[r], {largest, total});
    }

    const AttentionArgs& a_;
    const View& view_;
    Shared<width>& shared_;
    int warpgroup_, lane_, row_;  // the warp's first row among those of the piece
    int oldest_, newest_;         // positions of the warpgroup's rows; newest_ is -1 if it has none
    int first_, last_;            // of the warp's
    int position_[2];
    SplitSum all_[2] = {{-INFINITY, 0}, {-INFINITY, 0}}, of_span_[2];
    JoinFactors factors_[2];
    float sum_[sums];
};

}  // namespace voltpile::llm
