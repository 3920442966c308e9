// The shared memory of a block of latent attention of prompts, and the computation of one of its warpgroups.
#pragma once

#include "llm/ops/cuda/latent_block.cuh"
#include "llm/ops/cuda/sm90/attention_block.cuh"

namespace voltpile::llm {

constexpr int latent_block_rows = 64, latent_block_tokens = 64,
              latent_block_pages = latent_block_tokens / kv_page_tokens;
constexpr int latent_half_tokens = latent_block_tokens / warpgroups,
              latent_half_values = latent_value / warpgroups;
constexpr int latent_chunk_bytes = latent_block_tokens * 128;  // of 64 columns, also of queries
static_assert(latent_block_rows == latent_block_tokens);

// The weights of a warpgroup's half of a tile: of each thread, the elements of its sums.
using LatentHalfWeights = uint4[latent_half_tokens / 16][warpgroup_threads];

struct LatentPromptShared {
    Swizzled<latent_key, latent_block_rows> query;  // later the results
    Swizzled<latent_key, latent_block_tokens> tiles[stages];
    LatentHalfWeights weights[warpgroups];
    float largest[warpgroups][latent_block_rows];  // of the tile's scores
    float total[warpgroups][latent_block_rows];    // of all weights, at the end
    PhaseBarrier there[stages], read[stages];
};
static_assert(sizeof(LatentPromptShared) <= 227 * 1024);

// sum (64 x 32) = or += a b^T over 16 columns of a (64 rows) and b (32 rows), both in shared memory.
__device__ __forceinline__ void multiply_columns(float (&sum)[16], std::uint64_t a, std::uint64_t b,
                                                 bool add) {
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        "setp.ne.b32 add, %18, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
        "%11, %12, %13, %14, %15}, %16, %17, add, 1, 1, 0, 0;\n"
        "}"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
          "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]),
          "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15])
        : "l"(a), "l"(b), "r"(static_cast<int>(add)));
}

// The computation of one warpgroup.
class LatentPromptRows {
  public:
    __device__ LatentPromptRows(const AttentionArgs& a, const LatentShare& share, const Piece& piece,
                                const LatentView& view, LatentPromptShared& shared)
        : a_(a),
          share_(share),
          piece_(piece),
          view_(view),
          shared_(shared),
          warpgroup_(uniform(static_cast<int>(threadIdx.x) / warpgroup_threads)),
          lane_(static_cast<int>(threadIdx.x) % 32),
          row_(static_cast<int>(threadIdx.x) % warpgroup_threads / 32 * 16 + lane_ / 4) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = min(piece.first_row + row_ + 8 * r, piece.rows - 1);
            // A tile may exceed the part.
            last_seen_[r] = min(piece.position + row / a.heads, view.last);
        }
#pragma unroll
        for (float& sum : sum_) sum = 0;
    }

    __device__ void compute() {
        load_queries();
        bool values_run = false;
        for (int begin = view_.first; begin <= view_.last; begin += latent_block_tokens) {
            float score[latent_half_tokens / 2];
            shared_.there[turn_.stage].wait(turn_.parity);
            show_to_products();
            begin_score_products(score);
            if (values_run) {
                wait_for_products<1>();
                keep(sum_);
                release(turn_.stage ^ 1);
            }
            wait_for_products<0>();
            keep(score);
            soften(score, begin);
            multiply_values(score);
            values_run = true;
            turn_.advance();
        }
        wait_for_products<0>();
        keep(sum_);
        store();
    }

  private:
    static constexpr int sums = latent_half_values / 2;
    static constexpr int steps = latent_half_tokens / 16;  // of products with a half of the weights

    __device__ static void meet() {
        meet_at(1, computing_threads);
    }
    __device__ void release(int stage) {
        if (lane_ == 0) shared_.read[stage].arrive();
    }

    __device__ void load_queries() {
        const auto* const qkv = static_cast<const __half*>(a_.qkv);
#pragma unroll 6
        for (int i = static_cast<int>(threadIdx.x); i < latent_block_rows * latent_pieces;
             i += computing_threads) {
            const int of_block = i / latent_pieces, piece = i % latent_pieces;
            const int row = min(piece_.first_row + of_block, piece_.rows - 1), token = row / a_.heads;
            const __half* const from = qkv + qkv_row(a_, piece_.batch_row + token) +
                                       (row - token * a_.heads) * latent_key + piece * 8;
            *reinterpret_cast<uint4*>(piece_of<latent_key, latent_block_rows>(
                shared_.query, of_block, piece)) = *reinterpret_cast<const uint4*>(from);
        }
        show_to_products();
        meet();
    }

    __device__ __forceinline__ void begin_score_products(float (&score)[latent_half_tokens / 2]) {
        const std::uint64_t queries = describe(&shared_.query[0][0][0]);
        const std::uint64_t keys =
            describe(&shared_.tiles[turn_.stage][0][warpgroup_ * latent_half_tokens][0]);
        keep(score);
        begin_products();
#pragma unroll
        for (int d = 0; d < latent_key; d += 16) {
            const int at = d / 64 * latent_chunk_bytes + d % 64 * 2;
            multiply_columns(score, advanced(queries, at), advanced(keys, at), d > 0);
        }
        end_of_products();
        keep(score);
    }

    // Turns scores into weights 2^(scale * score - largest), and scales what came before.
    __device__ __forceinline__ void soften(float (&score)[latent_half_tokens / 2], int begin) {
        const float scale = softmax_scale(a_);
        const int first = begin + warpgroup_ * latent_half_tokens + lane_ % 4 * 2;
        const bool all_seen = begin + latent_block_tokens - 1 <= view_.common_last;
        float largest[2], factor[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            largest[r] = -INFINITY;
#pragma unroll
            for (int i = 0; i < latent_half_tokens / 2; ++i) {
                if (i % 4 / 2 != r) continue;
                const bool seen = all_seen || first + sum_column(i) <= last_seen_[r];
                score[i] = seen ? score[i] * scale : -INFINITY;
                largest[r] = fmaxf(largest[r], score[i]);
            }
            largest[r] = fmaxf(largest[r], __shfl_xor_sync(0xffffffffu, largest[r], 1));
            largest[r] = fmaxf(largest[r], __shfl_xor_sync(0xffffffffu, largest[r], 2));
            if (lane_ % 4 == 0) shared_.largest[warpgroup_][row_ + 8 * r] = largest[r];
        }
        meet();
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const float other = shared_.largest[1 - warpgroup_][row_ + 8 * r];
            largest[r] = fmaxf(softmax_[r].largest, fmaxf(largest[r], other));
            // Rows that see nothing yet must not subtract infinities.
            const float base = largest[r] == -INFINITY ? 0.0f : largest[r];
            factor[r] = power_of_two(softmax_[r].largest - base);
            softmax_[r] = {largest[r], softmax_[r].total * factor[r]};
#pragma unroll
            for (int i = 0; i < latent_half_tokens / 2; ++i) {
                if (i % 4 / 2 != r) continue;
                score[i] = power_of_two(score[i] - base);
                softmax_[r].total += score[i];
            }
        }
        // Mostly nothing larger has come.
        if (__any_sync(0xffffffffu, factor[0] != 1 || factor[1] != 1)) {
#pragma unroll
            for (int i = 0; i < sums; ++i) sum_[i] *= factor[i % 4 / 2];
        }
    }

    // Hands the weights over and multiplies them, then those of the other warpgroup.
    __device__ __forceinline__ void multiply_values(const float (&score)[latent_half_tokens / 2]) {
        const int t = static_cast<int>(threadIdx.x) % warpgroup_threads;
        std::uint32_t own[steps][4], others[steps][4];
#pragma unroll
        for (int i = 0; i < latent_half_tokens / 2; i += 2) {
            const __half2 pair = __floats2half2_rn(score[i], score[i + 1]);
            own[i / 8][i % 8 / 2] = *reinterpret_cast<const std::uint32_t*>(&pair);
        }
#pragma unroll
        for (int k = 0; k < steps; ++k)
            shared_.weights[warpgroup_][k][t] = make_uint4(own[k][0], own[k][1], own[k][2], own[k][3]);
        begin_value_products(own, warpgroup_);
        meet();
#pragma unroll
        for (int k = 0; k < steps; ++k) {
            const uint4 four = shared_.weights[1 - warpgroup_][k][t];
            others[k][0] = four.x;
            others[k][1] = four.y;
            others[k][2] = four.z;
            others[k][3] = four.w;
        }
        begin_value_products(others, 1 - warpgroup_);
    }
    // half: of the tile's tokens.
    __device__ __forceinline__ void begin_value_products(std::uint32_t (&weight)[steps][4], int half) {
        const std::uint64_t values = describe(
            &shared_.tiles[turn_.stage][(latent_rotated + warpgroup_ * latent_half_values) / 64][0][0],
            latent_chunk_bytes);
        keep(sum_);
        keep(weight);
        begin_products();
#pragma unroll
        for (int k = 0; k < steps; ++k)
            multiply<false>(sum_, weight[k], advanced(values, (half * latent_half_tokens + k * 16) * 128));
        end_of_products();
        keep(sum_);
    }

    // Stores rows, or results of the block's part of rows that see several.
    __device__ void store() {
        auto& results =
            reinterpret_cast<Swizzled<latent_half_values, latent_block_rows>*>(&shared_.query)[warpgroup_];
        static_assert(warpgroups * sizeof(results) <= sizeof(shared_.query));
        float total[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            total[r] = softmax_[r].total;
            total[r] += __shfl_xor_sync(0xffffffffu, total[r], 1);
            total[r] += __shfl_xor_sync(0xffffffffu, total[r], 2);
            if (lane_ % 4 == 0) shared_.total[warpgroup_][row_ + 8 * r] = total[r];
        }
        meet();
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = piece_.first_row + row_ + 8 * r, token = row / a_.heads;
            total[r] = shared_.total[0][row_ + 8 * r] + shared_.total[1][row_ + 8 * r];
            if (row >= piece_.rows) continue;
            if (is_whole(token))
                keep_row(results, r, total[r]);
            else if (piece_.position + token >= view_.first)
                store_part(token, row - token * a_.heads, r, total[r]);
        }
        __syncwarp();
        store_rows(results);
    }
    // Returns whether the block's part is all that the token sees.
    __device__ bool is_whole(int token) const {
        const int position = piece_.position + token;
        return position >= view_.first && position < view_.part_tokens;
    }
    __device__ void keep_row(Swizzled<latent_half_values, latent_block_rows>& results, int r,
                             float total) const {
#pragma unroll
        for (int i = 0; i < sums; i += 2) {
            if (i % 4 / 2 != r) continue;
            __half* const to =
                piece_of<latent_half_values, latent_block_rows>(results, row_ + 8 * r, i / 4) + lane_ % 4 * 2;
            *reinterpret_cast<__half2*>(to) =
                __halves2half2(limited_half(__fdividef(sum_[i], total), a_.limit),
                               limited_half(__fdividef(sum_[i + 1], total), a_.limit));
        }
    }
    __device__ void store_part(int token, int head, int r, float total) const {
        float* const part = latent_part(a_, share_.place(piece_.sequence, piece_.batch_row, token), head,
                                        static_cast<int>(blockIdx.y), share_.parts);
        if (warpgroup_ == 0 && lane_ % 4 == 0)
            *reinterpret_cast<float2*>(part) = make_float2(softmax_[r].largest, total);
        float* const to = part + latent_sum_begin + warpgroup_ * latent_half_values + lane_ % 4 * 2;
#pragma unroll
        for (int i = 0; i < sums; i += 2) {
            if (i % 4 / 2 == r)
                *reinterpret_cast<float2*>(to + sum_column(i)) = make_float2(sum_[i], sum_[i + 1]);
        }
    }
    // Stores the warp's whole rows.
    __device__ void store_rows(Swizzled<latent_half_values, latent_block_rows>& results) const {
        static_assert(latent_half_values / 8 == 32);  // a piece for each lane
        const int first = row_ - lane_ / 4;
#pragma unroll 1
        for (int r = first; r < first + 16; ++r) {
            const int row = piece_.first_row + r, token = row / a_.heads;
            if (row >= piece_.rows || !is_whole(token)) break;
            __half* const to = out_head(a_, piece_.batch_row + token, row - token * a_.heads) +
                               latent_rotated + warpgroup_ * latent_half_values;
            reinterpret_cast<uint4*>(to)[lane_] = *reinterpret_cast<const uint4*>(
                piece_of<latent_half_values, latent_block_rows>(results, r, lane_));
        }
    }

    const AttentionArgs& a_;
    const LatentShare& share_;
    const Piece& piece_;
    const LatentView& view_;
    LatentPromptShared& shared_;
    int warpgroup_, lane_;
    int row_;           // the thread's rows are this and the eighth after it
    int last_seen_[2];  // positions
    // Of the thread's rows so far; total: of the thread's columns only.
    SplitSum softmax_[2] = {{-INFINITY, 0}, {-INFINITY, 0}};
    float sum_[sums];
    Turn turn_;
};

}  // namespace voltpile::llm
