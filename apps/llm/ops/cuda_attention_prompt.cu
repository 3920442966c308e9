#include <algorithm>

#include "llm/ops/cuda_attention.cuh"

namespace voltpile::llm {

namespace {

using namespace nvcuda;

constexpr int threads = 128;
constexpr int tile_rows_of_queries = 64;  // 16 a warp
constexpr int tile_tokens = 64;
constexpr int score_stride = tile_tokens + 4;   // floats
constexpr int weight_stride = tile_tokens + 8;  // halves, in the place of the scores

template <int width>
struct Tiles {
    static constexpr int stride = width + 8;
    __half query[tile_rows_of_queries][stride];
    __half key[tile_tokens][stride];
    __half value[tile_tokens][stride];
    float score[4][16][score_stride];
    float factor[4][16];
    int sequence[tile_rows_of_queries];  // -1: not for this kernel
    int segment_end[tile_rows_of_queries];
};

// Copies rows of head_dim numbers, 16 bytes a thread; `from(row)` may be nullptr: zeros.
template <int width, class From>
__device__ void fetch(__half (*to)[width + 8], int rows, int head_dim, const From& from) {
    const int pieces = head_dim / 8;
    for (int i = static_cast<int>(threadIdx.x); i < rows * pieces; i += threads) {
        const __half* row = from(i / pieces);
        uint4 v = make_uint4(0, 0, 0, 0);
        if (row != nullptr) v = reinterpret_cast<const uint4*>(row)[i % pieces];
        *reinterpret_cast<uint4*>(&to[i / pieces][i % pieces * 8]) = v;
    }
}

// The queries of one sequence in the tile, rows begin .. end of it. Scores of a token that a row does not see
// change nothing, bit for bit, so that a row's result does not depend on where in a tile it is.
template <int width>
__device__ void attend(const AttentionArgs& a, Tiles<width>& tiles, int first_row, int begin, int end,
                       int head) {
    const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
    const int sequence = tiles.sequence[begin], dim = a.head_dim;
    const int kv_head = head / (a.heads / a.kv_heads);
    const int first_query = a.batch.position[first_row + begin];
    const int last = first_query + end - begin - 1;  // position
    const int first = first_position(a, first_query);
    const auto* qkv = static_cast<const __half*>(a.qkv);
    const auto token_row = [&](const void* cache, int position) {
        return static_cast<const __half*>(cache) +
               page_begin(a, sequence, position / kv_page_tokens, kv_head) + position % kv_page_tokens * dim;
    };
    fetch<width>(tiles.query, tile_rows_of_queries, dim, [&](int r) {
        return r >= begin && r < end ? qkv + qkv_row(a, first_row + r) + head * dim : nullptr;
    });

    // Which row each element of an accumulator belongs to: asked of the hardware, as it differs.
    float(*score)[score_stride] = tiles.score[warp];
    for (int i = lane; i < 256; i += 32) score[i / 16][i % 16] = static_cast<float>(i / 16);
    __syncwarp();
    Accumulator sum[width / 16];
    int row_of[sum[0].num_elements];
    wmma::load_matrix_sync(sum[0], &score[0][0], score_stride, wmma::mem_row_major);
#pragma unroll
    for (int i = 0; i < sum[0].num_elements; ++i) row_of[i] = static_cast<int>(sum[0].x[i]);
#pragma unroll
    for (auto& s : sum) wmma::fill_fragment(s, 0.0f);

    // Two lanes share a row, 32 tokens each.
    const int my_row = warp * 16 + lane / 2, my_token = lane % 2 * (tile_tokens / 2);
    const bool mine = my_row >= begin && my_row < end;
    const int position = first_query + my_row - begin;
    const int from_position = first_position(a, max(position, 0));
    const int warp_last = first_query + min(end, warp * 16 + 16) - 1 - begin;
    const bool warp_busy = warp * 16 < end && warp * 16 + 16 > begin;
    float largest = -INFINITY, total = 0;

    for (int tile = first / tile_tokens * tile_tokens; tile <= last; tile += tile_tokens) {
        __syncthreads();
        const auto seen_by_any = [&](int token) { return tile + token >= first && tile + token <= last; };
        fetch<width>(tiles.key, tile_tokens, dim, [&](int token) {
            return seen_by_any(token) ? token_row(a.keys, tile + token) : nullptr;
        });
        fetch<width>(tiles.value, tile_tokens, dim, [&](int token) {
            return seen_by_any(token) ? token_row(a.values, tile + token) : nullptr;
        });
        __syncthreads();
        if (!warp_busy || tile > warp_last) continue;

        Accumulator scores[tile_tokens / 16];
#pragma unroll
        for (auto& s : scores) wmma::fill_fragment(s, 0.0f);
#pragma unroll
        for (int d = 0; d < width; d += 16) {
            if (d >= dim) break;
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> q;
            wmma::load_matrix_sync(q, &tiles.query[warp * 16][d], Tiles<width>::stride);
#pragma unroll
            for (int n = 0; n < tile_tokens / 16; ++n) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> k;
                wmma::load_matrix_sync(k, &tiles.key[n * 16][d], Tiles<width>::stride);
                wmma::mma_sync(scores[n], q, k, scores[n]);
            }
        }
#pragma unroll
        for (int n = 0; n < tile_tokens / 16; ++n) {
            wmma::store_matrix_sync(&score[0][n * 16], scores[n], score_stride, wmma::mem_row_major);
        }
        __syncwarp();

        float value[tile_tokens / 2];
        float most = largest;
        const auto seen = [&](int i) {
            const int at = tile + my_token + i;
            return mine && at >= from_position && at <= position;
        };
#pragma unroll
        for (int i = 0; i < tile_tokens / 2; ++i) {
            value[i] = seen(i) ? score[lane / 2][my_token + i] * a.scale : -INFINITY;
            most = fmaxf(most, value[i]);
        }
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        const float factor = most == largest ? 1.0f : expf(largest - most);
        largest = most;
        float added = 0;
        __syncwarp();
        auto* weight = reinterpret_cast<__half*>(&score[0][0]);
#pragma unroll
        for (int i = 0; i < tile_tokens / 2; i += 2) {
            const float w0 = seen(i) ? expf(value[i] - most) : 0.0f;
            const float w1 = seen(i + 1) ? expf(value[i + 1] - most) : 0.0f;
            added += w0 + w1;
            *reinterpret_cast<__half2*>(weight + lane / 2 * weight_stride + my_token + i) =
                __floats2half2_rn(w0, w1);
        }
        added += __shfl_xor_sync(0xffffffffu, added, 1);
        total = fmaf(total, factor, added);
        if (lane % 2 == 0) tiles.factor[warp][lane / 2] = factor;
        __syncwarp();

        float factors[sum[0].num_elements];
#pragma unroll
        for (int i = 0; i < sum[0].num_elements; ++i) factors[i] = tiles.factor[warp][row_of[i]];
#pragma unroll
        for (auto& s : sum) {
#pragma unroll
            for (int i = 0; i < s.num_elements; ++i) s.x[i] *= factors[i];
        }
#pragma unroll
        for (int k = 0; k < tile_tokens; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> w;
            wmma::load_matrix_sync(w, weight + k, weight_stride);
#pragma unroll
            for (int d = 0; d < width; d += 16) {
                if (d >= dim) break;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> v;
                wmma::load_matrix_sync(v, &tiles.value[k][d], Tiles<width>::stride);
                wmma::mma_sync(sum[d / 16], w, v, sum[d / 16]);
            }
        }
        __syncwarp();
    }

    // Through the place of the keys and values, a quarter for each warp.
    __syncthreads();
    constexpr int result_stride = width + 4;
    static_assert(4 * 16 * result_stride * sizeof(float) <= 2 * sizeof(tiles.key));
    float* result = reinterpret_cast<float*>(&tiles.key[0][0]) + warp * 16 * result_stride;
#pragma unroll
    for (int d = 0; d < width; d += 16) {
        if (d >= dim) break;
        wmma::store_matrix_sync(result + d, sum[d / 16], result_stride, wmma::mem_row_major);
    }
    if (lane % 2 == 0) tiles.factor[warp][lane / 2] = 1.0f / total;
    __syncwarp();
    for (int i = lane; i < 16 * dim; i += 32) {
        const int r = i / dim, row = warp * 16 + r;
        if (row < begin || row >= end) continue;
        out_head(a, first_row + row, head)[i % dim] =
            __float2half_rn(result[r * result_stride + i % dim] * tiles.factor[warp][r]);
    }
    __syncthreads();
}

// Grid: tiles of rows, heads.
template <int width>
__global__ void __launch_bounds__(threads, 2) prompt_attention(const AttentionArgs a) {
    extern __shared__ __align__(32) unsigned char shared[];
    auto& tiles = *reinterpret_cast<Tiles<width>*>(shared);
    // The last rows have the longest contexts: they start first.
    const int first_row = static_cast<int>(gridDim.x - 1 - blockIdx.x) * tile_rows_of_queries;
    const int rows = min(tile_rows_of_queries, a.batch.rows - first_row);
    const int t = static_cast<int>(threadIdx.x);
    if (t < tile_rows_of_queries) {
        const int s = t < rows ? a.batch.sequence[first_row + t] : -1;
        const bool ours = s >= 0 && single_row(a, s) < 0;
        tiles.sequence[t] = ours ? s : -1;
        tiles.segment_end[t] = ours ? min(rows, a.batch.row_begin[s + 1] - first_row) : t + 1;
    }
    __syncthreads();
    for (int begin = 0; begin < rows;) {
        const int end = tiles.segment_end[begin];
        const int head = static_cast<int>(blockIdx.y);
        if (tiles.sequence[begin] >= 0) {
            attend(a, tiles, first_row, begin, end, head);
        } else if (t < a.head_dim && a.batch.sequence[first_row + begin] < 0) {
            out_head(a, first_row + begin, head)[t] = __half(0.0f);
        }
        begin = end;
    }
}

// A warp for each row and head, for heads of any width.
__global__ void plain_attention(const AttentionArgs a) {
    extern __shared__ float plain_shared[];
    const int row = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
    const int lane = static_cast<int>(threadIdx.x), sequence = a.batch.sequence[row];
    const int dim = a.head_dim;
    if (sequence < 0) {
        for (int d = lane; d < dim; d += 32) out_head(a, row, head)[d] = __half(0.0f);
        return;
    }
    const int position = a.batch.position[row], kv_head = head / (a.heads / a.kv_heads);
    const __half* query = static_cast<const __half*>(a.qkv) + qkv_row(a, row) + head * dim;
    float* sum = plain_shared;
    for (int d = lane; d < dim; d += 32) sum[d] = 0;
    float largest = -INFINITY, total = 0;
    for (int p = first_position(a, position); p <= position; ++p) {
        const std::int64_t at =
            page_begin(a, sequence, p / kv_page_tokens, kv_head) + p % kv_page_tokens * dim;
        const __half* key = static_cast<const __half*>(a.keys) + at;
        const __half* value = static_cast<const __half*>(a.values) + at;
        float score = 0;
        for (int d = lane; d < dim; d += 32)
            score = fmaf(__half2float(query[d]), __half2float(key[d]), score);
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(0xffffffffu, score, offset);
        score *= a.scale;
        const float most = fmaxf(largest, score);
        const float factor = most == largest ? 1.0f : expf(largest - most), weight = expf(score - most);
        largest = most;
        total = fmaf(total, factor, weight);
        for (int d = lane; d < dim; d += 32) sum[d] = fmaf(weight, __half2float(value[d]), sum[d] * factor);
    }
    __half* out = out_head(a, row, head);
    for (int d = lane; d < dim; d += 32) out[d] = __float2half_rn(sum[d] / total);
}

template <int width>
void start(const AttentionArgs& args, const Stream& stream) {
    static_assert(sizeof(Tiles<width>) <= 96 * 1024);
    const auto kernel = prompt_attention<width>;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(sizeof(Tiles<width>))),
               "shared memory of the attention");
    launch("attention of prompts", kernel,
           {(args.batch.rows + tile_rows_of_queries - 1) / tile_rows_of_queries, threads,
            sizeof(Tiles<width>), args.heads},
           stream, args);
}

}  // namespace

void launch_prompt_attention(const AttentionArgs& args, const Stream& stream) {
    if (args.head_dim <= 64) {
        start<64>(args, stream);
    } else {
        start<128>(args, stream);
    }
}

void launch_plain_attention(const AttentionArgs& args, const Stream& stream) {
    launch("attention", plain_attention,
           {args.batch.rows, 32, static_cast<std::size_t>(args.head_dim) * sizeof(float), args.heads}, stream,
           args);
}

}  // namespace voltpile::llm
