// The computation of one warpgroup: its rows' scores, softmax and sums of values.
#pragma once

#include "llm/ops/cuda/sm90/attention_block.cuh"

namespace voltpile::llm {

// A row's softmax so far. largest: of the scores before scaling. total: of the thread's columns only.
struct RowSoftmax {
    float largest = -INFINITY, total = 0;
};

// One warpgroup's computation.
template <int width>
class Rows {
  public:
    __device__ Rows(const AttentionArgs& a, const Spans& spans, const View& view, Shared<width>& shared)
        : a_(a),
          spans_(spans),
          view_(view),
          shared_(shared),
          warpgroup_(uniform(static_cast<int>(threadIdx.x) / warpgroup_threads)),
          lane_(static_cast<int>(threadIdx.x) % 32),
          warp_row_(uniform(static_cast<int>(threadIdx.x) / 32 * 16)) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row =
                min(shared.piece.first_row + warp_row_ + lane_ / 4 + 8 * i, shared.piece.rows - 1);
            position_[i] = shared.piece.position + row / view.group;
        }
    }

    __device__ void compute() {
        load_queries(a_, view_.group, own_barrier(), shared_);
        const float scale = softmax_scale(a_);
        if (warpgroup_ == 1) arrive_at(turn_barrier(0), computing_threads);
        int n = view_.end - 1;
        float score[64];
        std::uint32_t weight[block_tokens / 16][4];
        shared_.keys_there[keys_turn_.stage].wait(keys_turn_.parity);
        show_to_products();
        meet_at(turn_barrier(warpgroup_), computing_threads);
        begin_score_products(shared_, warpgroup_, keys_turn_.stage, score);
        arrive_at(turn_barrier(1 - warpgroup_), computing_threads);
        wait_for_products<0>();
        keep(score);
        finish_keys();
        float2 factor = soften(score, n, scale);
#pragma unroll
        for (int i = 0; i < sums; ++i) sum_[i] = 0;
        for (--n; n >= view_.begin; --n) {
            finish_stage(score, factor, n < view_.end - 2, weight);
            shared_.keys_there[keys_turn_.stage].wait(keys_turn_.parity);
            show_to_products();
            meet_at(turn_barrier(warpgroup_), computing_threads);
            begin_score_products(shared_, warpgroup_, keys_turn_.stage, score);
            shared_.values_there[values_turn_.stage].wait(values_turn_.parity);
            show_to_products();
            begin_value_products(shared_, values_turn_.stage, weight, sum_);
            arrive_at(turn_barrier(1 - warpgroup_), computing_threads);
            wait_for_products<1>();
            keep(score);
            finish_keys();
            factor = soften(score, n, scale);
        }
        finish_stage(score, factor, n < view_.end - 2, weight);
        if (warpgroup_ == 0) meet_at(turn_barrier(0), computing_threads);
        shared_.values_there[values_turn_.stage].wait(values_turn_.parity);
        show_to_products();
        begin_value_products(shared_, values_turn_.stage, weight, sum_);
        wait_for_products<0>();
        keep(sum_);
        store(scale);
    }

  private:
    static constexpr int sums = width / 2, pieces = width / 8;

    __device__ static int turn_barrier(int warpgroup) {
        return 1 + warpgroup;
    }
    __device__ int own_barrier() const {
        return 1 + warpgroups + warpgroup_;
    }

    __device__ void finish_keys() {
        if (lane_ == 0) shared_.keys_read[keys_turn_.stage].arrive();
        keys_turn_.advance();
    }
    __device__ void finish_values() {
        if (lane_ == 0) shared_.values_read[values_turn_.stage].arrive();
        values_turn_.advance();
    }

    // Waits for the products of values, if they run, and prepares the next ones. At the top of the loop and
    // not behind the softmax, because the compiler would wait before the softmax.
    __device__ __forceinline__ void finish_stage(const float (&score)[64], const float2& factor,
                                                 bool values_run,
                                                 std::uint32_t (&weight)[block_tokens / 16][4]) {
        wait_for_products<0>();
        keep(sum_);
        keep(weight);
        if (values_run) finish_values();
#pragma unroll
        for (int i = 0; i < sums; ++i) sum_[i] *= i % 4 < 2 ? factor.x : factor.y;
        convert(score, weight);
    }

    // Turns scores into weights 2^(scale * (score - largest)), and returns the factors of what came before.
    __device__ __forceinline__ float2 soften(float (&score)[64], int n, float scale) {
        const int first = n * block_tokens;
        if (first < view_.common_low || first + block_tokens - 1 > view_.common_high)
            hide_unseen(score, first);
        float factor[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float largest = softmax_[r].largest;
#pragma unroll
            for (int i = 0; i < 64; i += 4)
                largest = fmaxf(largest, fmaxf(score[i + 2 * r], score[i + 2 * r + 1]));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
            const float offset = largest == -INFINITY ? 0.0f : largest * scale;
            factor[r] = power_of_two(softmax_[r].largest * scale - offset);
            softmax_[r].largest = largest;
            float total = 0;
#pragma unroll
            for (int i = 0; i < 64; i += 4) {
#pragma unroll
                for (int k = i + 2 * r; k < i + 2 * r + 2; ++k) {
                    score[k] = power_of_two(fmaf(score[k], scale, -offset));
                    total += score[k];
                }
            }
            softmax_[r].total = fmaf(softmax_[r].total, factor[r], total);
        }
        return {factor[0], factor[1]};
    }
    __device__ __forceinline__ void hide_unseen(float (&score)[64], int first) {
        const int column = first + lane_ % 4 * 2;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int last = min(position_[r], view_.high) - column;
            const int begin = max(first_position(a_, position_[r]), view_.low) - column;
#pragma unroll
            for (int i = 0; i < 64; ++i) {
                if (i % 4 / 2 == r && (sum_column(i) > last || sum_column(i) < begin)) score[i] = -INFINITY;
            }
        }
    }
    __device__ __forceinline__ void convert(const float (&score)[64],
                                            std::uint32_t (&weight)[block_tokens / 16][4]) {
#pragma unroll
        for (int i = 0; i < 64; i += 2) {
            const __half2 two = __floats2half2_rn(score[i], score[i + 1]);
            weight[i / 8][i % 8 / 2] = *reinterpret_cast<const std::uint32_t*>(&two);
        }
    }

    // Results of rows that see nothing outside of the span go to the output, in 16-byte pieces by way of
    // shared memory, and the others to scratch.
    __device__ void store(float scale) {
        const int span = static_cast<int>(blockIdx.z), kv_head = static_cast<int>(blockIdx.x);
        const int span_begin = span * spans_.tokens, span_end = span_begin + spans_.tokens;
        const auto whole = [&](int position) {
            return spans_.count == 1 || (first_position(a_, position) >= span_begin && position < span_end);
        };
        meet_at(own_barrier(), warpgroup_threads);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int block_row = warp_row_ + lane_ / 4 + 8 * r, row = shared_.piece.first_row + block_row;
            float total = softmax_[r].total;
            total += __shfl_xor_sync(0xffffffffu, total, 1);
            total += __shfl_xor_sync(0xffffffffu, total, 2);
            if (row >= shared_.piece.rows) continue;
            const int head = kv_head * view_.group + row % view_.group;
            if (whole(position_[r])) {
                total = denominator(a_, head, {softmax_[r].largest * scale, total});
#pragma unroll
                for (int i = 2 * r; i < sums; i += 4) {
                    __half* to = piece_of<width, block_rows>(shared_.query, block_row, i / 4) + lane_ % 4 * 2;
                    *reinterpret_cast<__half2*>(to) =
                        __halves2half2(limited_half(__fdividef(sum_[i], total), a_.limit),
                                       limited_half(__fdividef(sum_[i + 1], total), a_.limit));
                }
            } else if (position_[r] >= span_begin && first_position(a_, position_[r]) < span_end) {
                float* to =
                    part_of(a_, shared_.piece.batch_row + row / view_.group, head, span, spans_.count);
                if (lane_ % 4 == 0)
                    *reinterpret_cast<float2*>(to) = make_float2(softmax_[r].largest * scale, total);
#pragma unroll
                for (int i = 2 * r; i < sums; i += 4)
                    *reinterpret_cast<float2*>(to + 2 + sum_column(i - 2 * r) + lane_ % 4 * 2) =
                        make_float2(sum_[i], sum_[i + 1]);
            }
        }
        __syncwarp();
        constexpr int step = 32 / pieces;
#pragma unroll 1
        for (int i = 0; i < 16; i += step) {
            const int block_row = warp_row_ + i + lane_ / pieces, row = shared_.piece.first_row + block_row;
            const int token = row / view_.group, head = kv_head * view_.group + row % view_.group;
            if (row >= shared_.piece.rows || !whole(shared_.piece.position + token)) continue;
            reinterpret_cast<uint4*>(out_head(a_, shared_.piece.batch_row + token, head))[lane_ % pieces] =
                *reinterpret_cast<const uint4*>(
                    piece_of<width, block_rows>(shared_.query, block_row, lane_ % pieces));
        }
    }

    const AttentionArgs& a_;
    const Spans& spans_;
    const View& view_;
    Shared<width>& shared_;
    int warpgroup_, lane_, warp_row_;
    int position_[2];  // of rows lane / 4 and lane / 4 + 8 of the warp
    RowSoftmax softmax_[2];
    float sum_[sums];
    Turn keys_turn_, values_turn_;
};

}  // namespace voltpile::llm
