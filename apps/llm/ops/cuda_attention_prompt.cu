#include <algorithm>

#include "llm/ops/cuda_attention.cuh"

namespace voltpile::llm {

namespace {

using namespace nvcuda;

constexpr int warps = 4, threads = 32 * warps;
constexpr int tile_rows_of_queries = 64;         // 16 a warp
constexpr int score_stride = split_tokens + 4;   // floats
constexpr int weight_stride = 2 * score_stride;  // halves: a row's weights lie in the place of its scores

template <int width>
struct Tiles {
    static constexpr int stride = width + 8;
    __half query[tile_rows_of_queries][stride];
    __half cached[split_tokens][stride];  // keys, then values
    float score[warps][16][score_stride];
    JoinFactors factors[warps][16];
    int sequence[tile_rows_of_queries];  // -1: not for this kernel
    int segment_end[tile_rows_of_queries];
};

// Rows of head_dim numbers, 16 bytes a thread, 4 of them on their way: piece(row, number of the piece), or
// zeros.
template <int width, class Piece>
__device__ void fetch(__half (*to)[width + 8], int rows, int head_dim, const Piece& piece) {
    constexpr int together = 4;
    const int pieces = head_dim / 8;
    for (int first = static_cast<int>(threadIdx.x); first < rows * pieces; first += together * threads) {
        uint4 v[together];
#pragma unroll
        for (int n = 0; n < together; ++n) {
            const int i = min(first + n * threads, rows * pieces - 1);
            v[n] = piece(i / pieces, i % pieces);
        }
#pragma unroll
        for (int n = 0; n < together; ++n) {
            const int i = min(first + n * threads, rows * pieces - 1);
            *reinterpret_cast<uint4*>(&to[i / pieces][i % pieces * 8]) = v[n];
        }
    }
}

// The queries of one sequence in the tile, rows begin .. end of it. Scores of a token that a row does not see
// change nothing, bit for bit, so that a row's result does not depend on where in a tile it is.
template <int width, KvElement element>
__device__ void attend(const AttentionArgs& a, Tiles<width>& tiles, int first_row, int begin, int end,
                       int head) {
    const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
    const int sequence = tiles.sequence[begin], dim = a.head_dim;
    const int kv_head = head / (a.heads / a.kv_heads);
    const int first_query = a.batch.position[first_row + begin];
    const int last = first_query + end - begin - 1;  // position
    const int first = first_position(a, first_query);
    const auto* qkv = static_cast<const __half*>(a.qkv);
    const uint4 zeros = make_uint4(0, 0, 0, 0);
    fetch<width>(tiles.query, tile_rows_of_queries, dim, [&](int r, int piece) {
        const auto* row = qkv + qkv_row(a, first_row + r) + head * dim;
        return r >= begin && r < end ? reinterpret_cast<const uint4*>(row)[piece] : zeros;
    });

    // Which row each element of an accumulator belongs to: asked of the hardware, as it differs.
    float(*score)[score_stride] = tiles.score[warp];
    auto* weight = reinterpret_cast<__half*>(&score[0][0]);
    for (int i = lane; i < 256; i += 32) score[i / 16][i % 16] = static_cast<float>(i / 16);
    __syncwarp();
    Accumulator sum[width / 16];
    int row_of[sum[0].num_elements];
    wmma::load_matrix_sync(sum[0], &score[0][0], score_stride, wmma::mem_row_major);
#pragma unroll
    for (int i = 0; i < sum[0].num_elements; ++i) row_of[i] = static_cast<int>(sum[0].x[i]);
#pragma unroll
    for (auto& s : sum) wmma::fill_fragment(s, 0.0f);

    // What the warp's rows see, together.
    const int warp_begin = max(begin, warp * 16), warp_end = min(end, warp * 16 + 16);
    const int warp_last = first_query + warp_end - 1 - begin;
    const int warp_first = first_position(a, first_query + warp_begin - begin);
    const auto seen = [&](int token) { return token + 15 >= warp_first && token <= warp_last; };
    SplitSum all{-INFINITY, 0};  // of row `lane` of the warp

    for (int tile = first / split_tokens * split_tokens; tile <= last; tile += split_tokens) {
        const bool busy = warp_begin < warp_end && tile <= warp_last && tile + split_tokens > warp_first;
        const auto fetch_tokens = [&](const void* cache, const float* scales) {
            fetch<width>(tiles.cached, split_tokens, dim, [&](int token, int piece) {
                const int at = tile + token;
                if (at < first || at > last) return zeros;
                const CachedPage<element> page(cache, scales,
                                               page_index(a, sequence, at / kv_page_tokens, kv_head), dim);
                return page.halves(at % kv_page_tokens, piece, dim);
            });
        };
        __syncthreads();
        fetch_tokens(a.cache.keys, a.cache.key_scales);
        __syncthreads();
        constexpr int together = 4;  // products at a time
        for (int part = 0; busy && part < split_tokens / 16; part += together) {
            Accumulator scores[together];
#pragma unroll
            for (auto& s : scores) wmma::fill_fragment(s, 0.0f);
#pragma unroll
            for (int d = 0; d < width; d += 16) {
                if (d >= dim) break;
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> q;
                wmma::load_matrix_sync(q, &tiles.query[warp * 16][d], Tiles<width>::stride);
#pragma unroll
                for (int n = 0; n < together; ++n) {
                    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> k;
                    wmma::load_matrix_sync(k, &tiles.cached[(part + n) * 16][d], Tiles<width>::stride);
                    wmma::mma_sync(scores[n], q, k, scores[n]);
                }
            }
#pragma unroll
            for (int n = 0; n < together; ++n) {
                wmma::store_matrix_sync(&score[0][(part + n) * 16], scores[n], score_stride,
                                        wmma::mem_row_major);
            }
        }
        __syncthreads();
        fetch_tokens(a.cache.values, a.cache.value_scales);

        // What becomes of rows outside the segment is of no concern.
        SplitSum mine{-INFINITY, 0};
        for (int r = 0; busy && r < 16; r += 4) {
            SplitSum of_rows[4];
            soften_split(
                score[r], score_stride, weight + r * weight_stride, weight_stride, tile, a.scale,
                [&](int row) {
                    const int position = first_query + warp * 16 + r + row - begin;
                    return SeenRange{first_position(a, position), position};
                },
                of_rows);
#pragma unroll
            for (int row = 0; row < 4; ++row) {
                if (lane == r + row) mine = of_rows[row];
            }
        }
        if (lane < 16) tiles.factors[warp][lane] = join_split(all, mine);
        __syncthreads();
        if (!busy) continue;

        Accumulator part[width / 16];
#pragma unroll
        for (auto& p : part) wmma::fill_fragment(p, 0.0f);
#pragma unroll 1
        for (int k = 0; k < split_tokens; k += 16) {
            if (!seen(tile + k)) continue;
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> w;
            wmma::load_matrix_sync(w, weight + k, weight_stride);
#pragma unroll
            for (int d = 0; d < width; d += 16) {
                if (d >= dim) break;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> v;
                wmma::load_matrix_sync(v, &tiles.cached[k][d], Tiles<width>::stride);
                wmma::mma_sync(part[d / 16], w, v, part[d / 16]);
            }
        }
#pragma unroll
        for (int i = 0; i < sum[0].num_elements; ++i) {
            const JoinFactors factors = tiles.factors[warp][row_of[i]];
#pragma unroll
            for (int d = 0; d < width / 16; ++d) sum[d].x[i] = join_value(sum[d].x[i], part[d].x[i], factors);
        }
    }

    // Through the place of the keys and values, a quarter for each warp.
    __syncthreads();
    constexpr int result_stride = width + 4;
    static_assert(warps * 16 * result_stride * sizeof(float) <= sizeof(tiles.cached));
    float* result = reinterpret_cast<float*>(&tiles.cached[0][0]) + warp * 16 * result_stride;
#pragma unroll
    for (int d = 0; d < width; d += 16) {
        if (d >= dim) break;
        wmma::store_matrix_sync(result + d, sum[d / 16], result_stride, wmma::mem_row_major);
    }
    __syncwarp();
    for (int r = 0; r < 16; ++r) {
        const int row = warp * 16 + r;
        const float total = __shfl_sync(0xffffffffu, all.total, r);
        if (row < begin || row >= end) continue;
        for (int d = lane; d < dim; d += 32) {
            out_head(a, first_row + row, head)[d] =
                __float2half_rn(__fdiv_rn(result[r * result_stride + d], total));
        }
    }
    __syncthreads();
}

// Grid: tiles of rows, heads.
template <int width, KvElement element>
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
            attend<width, element>(a, tiles, first_row, begin, end, head);
        } else if (t < a.head_dim && a.batch.sequence[first_row + begin] < 0) {
            out_head(a, first_row + begin, head)[t] = __half(0.0f);
        }
        begin = end;
    }
}

// A warp for each row and head, for heads of any width.
template <KvElement element>
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
        const std::int64_t page = page_index(a, sequence, p / kv_page_tokens, kv_head);
        const int token = p % kv_page_tokens;
        const CachedPage<element> keys(a.cache.keys, a.cache.key_scales, page, dim);
        const CachedPage<element> values(a.cache.values, a.cache.value_scales, page, dim);
        float score = 0;
        for (int d = lane; d < dim; d += 32)
            score = fmaf(__half2float(query[d]), keys.number(token, d, dim), score);
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(0xffffffffu, score, offset);
        score *= a.scale;
        const float most = fmaxf(largest, score);
        const float factor = most == largest ? 1.0f : expf(largest - most), weight = expf(score - most);
        largest = most;
        total = fmaf(total, factor, weight);
        for (int d = lane; d < dim; d += 32)
            sum[d] = fmaf(weight, values.number(token, d, dim), sum[d] * factor);
    }
    __half* out = out_head(a, row, head);
    for (int d = lane; d < dim; d += 32) out[d] = __float2half_rn(sum[d] / total);
}

template <int width>
void start(const AttentionArgs& args, const Stream& stream) {
    static_assert(sizeof(Tiles<width>) <= 96 * 1024);
    const auto kernel = args.cache.element == KvElement::F16 ? prompt_attention<width, KvElement::F16>
                                                             : prompt_attention<width, KvElement::I8>;
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
    const auto kernel = args.cache.element == KvElement::F16 ? plain_attention<KvElement::F16>
                                                             : plain_attention<KvElement::I8>;
    launch("attention", kernel,
           {args.batch.rows, 32, static_cast<std::size_t>(args.head_dim) * sizeof(float), args.heads}, stream,
           args);
}

}  // namespace voltpile::llm
