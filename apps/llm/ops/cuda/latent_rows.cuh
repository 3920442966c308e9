// The computation of a block of latent attention: its rows' scores, softmax and sums of values.
#pragma once

#include "llm/ops/cuda/latent_block.cuh"

namespace voltpile::llm {

// Scores: each warp multiplies a quarter of the columns of the queries and keys, for half of the tile's
// scores. Softmax: a few lanes per row. Values: each warp sums latent_warp_values columns for all rows.
template <int row_tiles, int stages>
class LatentRows {
  public:
    using Shared = LatentShared<row_tiles, stages>;
    static constexpr int rows = Shared::rows;

    __device__ LatentRows(const AttentionArgs& a, const LatentShare& share, const Piece& piece,
                          const LatentView& view, Shared& shared)
        : a_(a),
          share_(share),
          piece_(piece),
          view_(view),
          shared_(shared),
          warp_(static_cast<int>(threadIdx.x) / 32),
          lane_(static_cast<int>(threadIdx.x) % 32) {
        const int row = min(piece.first_row + row_of_thread(), piece.rows - 1);
        last_seen_ = piece.position + row / a.heads;
#pragma unroll
        for (auto& row_of_sums : sum_) {
#pragma unroll
            for (auto& sum : row_of_sums) nvcuda::wmma::fill_fragment(sum, 0.0f);
        }
        find_rows();
    }

    // Starts to load the first tile if it is in the cache since earlier passes.
    __device__ void load_early() {
        early_ = view_.first + latent_tokens <= piece_.position;
        if (early_) start(view_.first);
    }
    __device__ void compute() {
        if (!early_) start(view_.first);
        load_queries();
        for (int begin = view_.first; begin <= view_.last; begin += latent_tokens) {
            const int next = begin + latent_tokens;
            const bool more = next <= view_.last;
            LatentTile& tile = tile_of(begin);
            fetch_.store(tile);
            wait_for_copies();
            __syncthreads();
            // Copies need another stage, other loads registers.
            constexpr bool at_once = stages > 1 || !copies_run_alone;
            if (at_once && more) start(next);
            multiply_keys(tile);
            __syncthreads();
            if (__syncthreads_or(soften(begin))) scale_sums();
            multiply_values(tile);
            if (stages == 1) __syncthreads();
            if (!at_once && more) start(next);
        }
        store();
    }

  private:
    // Rows of the fragments of scores that a warp computes, and columns.
    static constexpr int score_rows = row_tiles == 4 ? 2 : row_tiles, score_columns = row_tiles == 4 ? 2 : 1;
    static constexpr int value_columns = latent_warp_values / 16;
    static constexpr int lanes_of_row = latent_threads / rows;
    static constexpr int pairs_of_lane = latent_tokens / lanes_of_row / 2;  // of adjacent scores

    using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
    using Left = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major>;
    template <class Layout>
    using Right = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, Layout>;

    __device__ static int row_of_thread() {
        return static_cast<int>(threadIdx.x) / lanes_of_row;
    }
    __device__ LatentTile& tile_of(int begin) {
        return shared_.tiles[stages > 1 ? (begin - view_.first) / latent_tokens % stages : 0];
    }
    __device__ void start(int begin) {
        fetch_.start(a_, piece_.sequence, begin, view_.last, tile_of(begin));
    }

    // Finds the row of each element of an accumulator by loading row indices: the mapping differs between
    // GPUs. Four bits each.
    __device__ void find_rows() {
        static_assert(latent_warps * 256 * sizeof(float) <= sizeof(shared_.score));
        float* const row = &shared_.score[0][0][0] + warp_ * 256;
        for (int i = lane_; i < 256; i += 32) row[i] = static_cast<float>(i / 16);
        __syncwarp();
        Accumulator rows_of;
        nvcuda::wmma::load_matrix_sync(rows_of, row, 16, nvcuda::wmma::mem_row_major);
        rows_of_elements_ = 0;
#pragma unroll
        for (int i = 0; i < rows_of.num_elements; ++i)
            rows_of_elements_ |= static_cast<std::uint32_t>(rows_of.x[i]) << (4 * i);
    }

    __device__ void load_queries() {
        const auto* const qkv = static_cast<const __half*>(a_.qkv);
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x); i < rows * latent_pieces; i += latent_threads) {
            const int of_block = i / latent_pieces, piece = i % latent_pieces;
            const int row = min(piece_.first_row + of_block, piece_.rows - 1), token = row / a_.heads;
            const bool wanted = row == piece_.first_row + of_block;
            const __half* const from = qkv + qkv_row(a_, piece_.batch_row + token) +
                                       (row - token * a_.heads) * latent_key + piece * 8;
            __half* const to = &shared_.query[of_block][piece * 8];
            if constexpr (copies_run_alone)
                copy_alone(to, from, wanted);
            else
                *reinterpret_cast<uint4*>(to) =
                    wanted ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
        }
    }

    __device__ void multiply_keys(const LatentTile& tile) {
        using namespace nvcuda;
        constexpr int columns = latent_key / latent_key_parts;
        static_assert(columns % 16 == 0 && latent_warps == 2 * latent_key_parts && latent_tokens == 32);
        const int part = warp_ / 2, half = warp_ % 2;
        const int first_row = row_tiles == 4 ? half * 32 : 0, first_token = row_tiles == 4 ? 0 : half * 16;
        Accumulator score[score_rows][score_columns];
#pragma unroll
        for (auto& row : score) {
#pragma unroll
            for (auto& s : row) wmma::fill_fragment(s, 0.0f);
        }
#pragma unroll
        for (int d = 0; d < columns; d += 16) {
            Left query[score_rows];
#pragma unroll
            for (int m = 0; m < score_rows; ++m)
                wmma::load_matrix_sync(query[m], &shared_.query[first_row + m * 16][part * columns + d],
                                       latent_stride);
#pragma unroll
            for (int n = 0; n < score_columns; ++n) {
                Right<wmma::col_major> key;
                wmma::load_matrix_sync(key, &tile[first_token + n * 16][part * columns + d], latent_stride);
#pragma unroll
                for (int m = 0; m < score_rows; ++m) wmma::mma_sync(score[m][n], query[m], key, score[m][n]);
            }
        }
#pragma unroll
        for (int m = 0; m < score_rows; ++m) {
#pragma unroll
            for (int n = 0; n < score_columns; ++n)
                wmma::store_matrix_sync(&shared_.score[part][first_row + m * 16][first_token + n * 16],
                                        score[m][n], latent_score_stride, wmma::mem_row_major);
        }
    }

    // Returns the thread's pair i of scores of its row, times the scale; -infinity for tokens that the row
    // does not see.
    __device__ float2 seen_scores(int begin, int column, float scale) const {
        float2 score = make_float2(0, 0);
#pragma unroll
        for (const auto& part : shared_.score) {
            const float2 v = *reinterpret_cast<const float2*>(&part[row_of_thread()][column]);
            score.x += v.x;
            score.y += v.y;
        }
        score.x = begin + column <= last_seen_ ? score.x * scale : -INFINITY;
        score.y = begin + column + 1 <= last_seen_ ? score.y * scale : -INFINITY;
        return score;
    }

    // Turns the scores of the tile into weights 2^(scale * score - largest). Returns whether what came before
    // has another factor than 1.
    __device__ bool soften(int begin) {
        const int lane_of_row = static_cast<int>(threadIdx.x) % lanes_of_row;
        const auto column = [&](int i) { return (i * lanes_of_row + lane_of_row) * 2; };
        const float scale = softmax_scale(a_);
        float2 score[pairs_of_lane];
        float largest = softmax_.largest;
#pragma unroll
        for (int i = 0; i < pairs_of_lane; ++i) {
            score[i] = seen_scores(begin, column(i), scale);
            largest = fmaxf(largest, fmaxf(score[i].x, score[i].y));
        }
#pragma unroll
        for (int offset = lanes_of_row / 2; offset > 0; offset /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
        // Rows that see nothing yet must not subtract infinities.
        const float base = largest == -INFINITY ? 0.0f : largest;
        const float factor = power_of_two(softmax_.largest - base);
        softmax_ = {largest, softmax_.total * factor};
#pragma unroll
        for (int i = 0; i < pairs_of_lane; ++i) {
            // A NaN propagates from here: the maximum ignores it.
            const float x = power_of_two(score[i].x - base), y = power_of_two(score[i].y - base);
            softmax_.total += x + y;
            *reinterpret_cast<__half2*>(&shared_.weight[row_of_thread()][column(i)]) =
                __floats2half2_rn(x, y);
        }
        if (lane_of_row == 0) shared_.factor[row_of_thread()] = factor;
        return factor != 1;
    }

    __device__ void scale_sums() {
#pragma unroll
        for (int m = 0; m < row_tiles; ++m) {
#pragma unroll
            for (int i = 0; i < Accumulator::num_elements; ++i) {
                const float factor = shared_.factor[m * 16 + (rows_of_elements_ >> (4 * i) & 15)];
#pragma unroll
                for (int n = 0; n < value_columns; ++n) sum_[m][n].x[i] *= factor;
            }
        }
    }

    __device__ void multiply_values(const LatentTile& tile) {
        using namespace nvcuda;
#pragma unroll
        for (int k = 0; k < latent_tokens; k += 16) {
            Left weight[row_tiles];
#pragma unroll
            for (int m = 0; m < row_tiles; ++m)
                wmma::load_matrix_sync(weight[m], &shared_.weight[m * 16][k], latent_score_stride);
#pragma unroll
            for (int n = 0; n < value_columns; ++n) {
                Right<wmma::row_major> value;
                wmma::load_matrix_sync(value, &tile[k][first_column() + n * 16], latent_stride);
#pragma unroll
                for (int m = 0; m < row_tiles; ++m) wmma::mma_sync(sum_[m][n], weight[m], value, sum_[m][n]);
            }
        }
    }
    // Returns the first column of the warp in a key.
    __device__ int first_column() const {
        return latent_rotated + warp_ * latent_warp_values;
    }

    // Each warp passes its columns of 16 rows at a time through shared memory.
    __device__ void store() {
        constexpr int results = 16 * latent_result_stride;
        static_assert(latent_warps * results * sizeof(float) <= sizeof(LatentTile));
        float total = softmax_.total;
#pragma unroll
        for (int offset = lanes_of_row / 2; offset > 0; offset /= 2)
            total += __shfl_xor_sync(0xffffffffu, total, offset);
        if (threadIdx.x % lanes_of_row == 0) shared_.sums[row_of_thread()] = {softmax_.largest, total};
        __syncthreads();
        float* const result = reinterpret_cast<float*>(&shared_.tiles[0]) + warp_ * results;
#pragma unroll
        for (int m = 0; m < row_tiles; ++m) {
#pragma unroll
            for (int n = 0; n < value_columns; ++n)
                nvcuda::wmma::store_matrix_sync(result + n * 16, sum_[m][n], latent_result_stride,
                                                nvcuda::wmma::mem_row_major);
            __syncwarp();
            for (int r = 0; r < 16 && piece_.first_row + m * 16 + r < piece_.rows; ++r)
                store_row(m * 16 + r, result + r * latent_result_stride);
            __syncwarp();
        }
    }
    // Stores a row's result, or that of the block's part if the row sees several. result: the warp's columns.
    __device__ void store_row(int row_of_block, const float* result) const {
        static_assert(latent_warp_values == 64);
        const int row = piece_.first_row + row_of_block, token = row / a_.heads,
                  head = row - token * a_.heads;
        const int position = piece_.position + token, column = warp_ * latent_warp_values + lane_ * 2;
        if (position < view_.first) return;
        const SplitSum& all = shared_.sums[row_of_block];
        const float2 value = *reinterpret_cast<const float2*>(result + lane_ * 2);
        if (position < view_.part_tokens) {
            __half* const to = out_head(a_, piece_.batch_row + token, head) + latent_rotated + column;
            *reinterpret_cast<__half2*>(to) =
                __halves2half2(limited_half(__fdiv_rn(value.x, all.total), a_.limit),
                               limited_half(__fdiv_rn(value.y, all.total), a_.limit));
            return;
        }
        float* const part = latent_part(a_, share_.place(piece_.sequence, piece_.batch_row, token), head,
                                        static_cast<int>(blockIdx.y), share_.parts);
        if (warp_ == 0 && lane_ == 0) *reinterpret_cast<float2*>(part) = make_float2(all.largest, all.total);
        *reinterpret_cast<float2*>(part + latent_sum_begin + column) = value;
    }

    const AttentionArgs& a_;
    const LatentShare& share_;
    const Piece& piece_;
    const LatentView& view_;
    Shared& shared_;
    int warp_, lane_;
    int last_seen_;  // position, by row_of_thread()
    bool early_ = false;
    std::uint32_t rows_of_elements_;
    // Of row_of_thread() so far; total: of the thread's columns only.
    SplitSum softmax_{-INFINITY, 0};
    LatentFetch fetch_;
    Accumulator sum_[row_tiles][value_columns];
};

}  // namespace voltpile::llm
