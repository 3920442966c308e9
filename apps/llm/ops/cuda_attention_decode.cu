#include <algorithm>

#include "llm/ops/cuda_attention.cuh"

namespace voltpile::llm {

namespace {

using namespace nvcuda;

constexpr int warps = 4, threads = 32 * warps;
constexpr int split_pages = split_tokens / kv_page_tokens;
constexpr int tile_heads = 16;  // heads of a KV head in a tile of the tensor cores

// An empty row: by the blocks of one split.
__device__ void clear_row(const AttentionArgs& a, int row) {
    const int width = a.heads * a.head_dim, blocks = static_cast<int>(gridDim.y);
    const int each = (width + blocks - 1) / blocks, begin = static_cast<int>(blockIdx.y) * each;
    for (int i = begin + static_cast<int>(threadIdx.x); i < min(width, begin + each); i += threads) {
        out_head(a, row, 0)[i] = __half(0.0f);
    }
}

// A page's keys or values as fp16 in shared memory, by a warp.
template <int head_dim, KvElement element>
__device__ void stage_page(const CachedPage<element>& page, __half (*to)[head_dim + 8]) {
    constexpr int pieces = head_dim / 8;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < kv_page_tokens * pieces; i += 32) {
        *reinterpret_cast<uint4*>(&to[i / pieces][i % pieces * 8]) =
            page.halves(i / pieces, i % pieces, head_dim);
    }
}

// Grid: splits, (KV heads * tiles of heads), sequences from first_sequence. The tensor cores read pages of
// fp16 where they are; others are staged, 4 at a time.
template <int head_dim, KvElement element>
__global__ void __launch_bounds__(threads, 4)
    decode_split(const AttentionArgs a, int first_sequence, int splits) {
    constexpr bool staged = element != KvElement::F16;
    __shared__ __align__(32) __half query[tile_heads][head_dim + 8];
    __shared__ __align__(32) float score[tile_heads][split_tokens + 4];
    __shared__ __align__(32) __half weight[tile_heads][split_tokens + 8];
    __shared__ __align__(32) __half token_numbers[16][16];
    __shared__ __align__(32) __half stage[staged ? warps : 1][staged ? kv_page_tokens : 1][head_dim + 8];
    __shared__ SplitSum sums[tile_heads];

    const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
    const int sequence = first_sequence + static_cast<int>(blockIdx.z);
    if (blockIdx.x == 0 && sequence < a.batch.rows && a.batch.sequence[sequence] < 0) clear_row(a, sequence);
    const int row = sequence < a.batch.sequences ? single_row(a, sequence) : -1;
    if (row < 0) return;
    const int position = a.batch.position[row], first = first_position(a, position);
    const int split = static_cast<int>(blockIdx.x), begin = split * split_tokens;
    if (begin > position || begin + split_tokens <= first) return;
    const int group = a.heads / a.kv_heads, tiles = (group + tile_heads - 1) / tile_heads;
    const int kv_head = static_cast<int>(blockIdx.y) / tiles;
    const int first_head = static_cast<int>(blockIdx.y) % tiles * tile_heads;  // in the group
    const int heads = min(tile_heads, group - first_head);
    // Pages before the window may be somebody else's by now.
    const int first_page = max(0, first - begin) / kv_page_tokens;
    const int pages = min(split_pages, position / kv_page_tokens + 1 - split * split_pages);
    const auto page_of = [&](const void* all, const float* scales, int page) {
        return CachedPage<element>(all, scales, page_index(a, sequence, split * split_pages + page, kv_head),
                                   head_dim);
    };

    const __half* q =
        static_cast<const __half*>(a.qkv) + qkv_row(a, row) + (kv_head * group + first_head) * head_dim;
    for (int i = t; i < tile_heads * head_dim; i += threads) {
        const int h = i / head_dim;
        query[h][i % head_dim] = h < heads ? q[i] : __half(0.0f);
    }
    for (int i = t; i < 256; i += threads) token_numbers[i / 16][i % 16] = __int2half_rn(i / 16);
    __syncthreads();

    // Scores: each warp takes every fourth page.
    for (int page = first_page + warp; page < pages; page += warps) {
        const auto from = page_of(a.cache.keys, a.cache.key_scales, page);
        const __half* k = nullptr;
        if constexpr (staged) {
            __syncwarp();
            stage_page<head_dim>(from, stage[warp]);
            __syncwarp();
            k = &stage[warp][0][0];
        } else {
            k = from.data;
        }
        Accumulator s;
        wmma::fill_fragment(s, 0.0f);
#pragma unroll
        for (int d = 0; d < head_dim; d += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> qs;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> ks;
            wmma::load_matrix_sync(ks, k + d, staged ? head_dim + 8 : head_dim);
            wmma::load_matrix_sync(qs, &query[0][d], head_dim + 8);
            wmma::mma_sync(s, qs, ks, s);
        }
        wmma::store_matrix_sync(&score[0][page * 16], s, split_tokens + 4, wmma::mem_row_major);
    }
    __syncthreads();

    // Softmax of the split: each warp takes 4 heads.
    SplitSum of_heads[4];
    soften_split(
        score[warp * 4], split_tokens + 4, weight[warp * 4], split_tokens + 8, begin, a.scale,
        [&](int) { return SeenRange{first, position}; }, of_heads);
#pragma unroll
    for (int h = 0; h < 4; ++h) {
        if (lane == 0) sums[warp * 4 + h] = of_heads[h];
    }
    __syncthreads();

    // Values: each warp takes every fourth slice of 16 columns. Tokens that are not seen have weight 0, but
    // what was never written, or by another sequence, may be NaN: it is cleared in the pages at the borders.
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> numbers;
    wmma::load_matrix_sync(numbers, &token_numbers[0][0], 16);
    constexpr int slices = (head_dim / 16 + warps - 1) / warps;
    Accumulator sum[slices];
#pragma unroll
    for (auto& s : sum) wmma::fill_fragment(s, 0.0f);
    for (int base = first_page; base < pages; base += warps) {
        if constexpr (staged) {
            __syncthreads();
            if (base + warp < pages)
                stage_page<head_dim>(page_of(a.cache.values, a.cache.value_scales, base + warp), stage[warp]);
            __syncthreads();
        }
#pragma unroll
        for (int n = 0; n < slices; ++n) {
            const int d = (warp + n * warps) * 16;
            if (d >= head_dim) continue;
#pragma unroll
            for (int p = 0; p < warps; ++p) {
                const int page = base + p;
                if (page >= pages) continue;
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> ws;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> vs;
                if constexpr (staged) {
                    wmma::load_matrix_sync(vs, &stage[p][0][d], head_dim + 8);
                } else {
                    wmma::load_matrix_sync(vs, page_of(a.cache.values, nullptr, page).data + d, head_dim);
                }
                wmma::load_matrix_sync(ws, &weight[0][page * 16], split_tokens + 8);
                const int page_position = begin + page * 16;
                if (page_position < first || page_position + 15 > position) {
#pragma unroll
                    for (int i = 0; i < vs.num_elements; ++i) {
                        const int at = page_position + __half2int_rn(numbers.x[i]);
                        if (at < first || at > position) vs.x[i] = __half(0.0f);
                    }
                }
                wmma::mma_sync(sum[n], ws, vs, sum[n]);
            }
        }
    }
    float* results = &score[0][0];  // (16, head_dim + 4): head_dim <= 128
#pragma unroll
    for (int n = 0; n < slices; ++n) {
        const int d = (warp + n * warps) * 16;
        if (d < head_dim) wmma::store_matrix_sync(results + d, sum[n], split_tokens + 4, wmma::mem_row_major);
    }
    __syncthreads();
    const bool only = begin <= first && begin + split_tokens > position;
    for (int i = t; i < heads * head_dim; i += threads) {
        const int h = i / head_dim, d = i % head_dim, head = kv_head * group + first_head + h;
        const float value = results[h * (split_tokens + 4) + d];
        if (only) {
            out_head(a, row, head)[d] = __float2half_rn(__fdiv_rn(value, sums[h].total));
        } else {
            float* part = part_of(a, static_cast<int>(blockIdx.z), head, split, splits);
            part[2 + d] = value;
            if (d == 0) {
                part[0] = sums[h].largest;
                part[1] = sums[h].total;
            }
        }
    }
}

template <int head_dim>
void start(const AttentionArgs& args, int first_sequence, int sequences, const Stream& stream) {
    const int group = args.heads / args.kv_heads, tiles = (group + tile_heads - 1) / tile_heads;
    const auto kernel = args.cache.element == KvElement::F16 ? decode_split<head_dim, KvElement::F16>
                                                             : decode_split<head_dim, KvElement::I8>;
    launch("attention of single rows", kernel,
           {splits_of(args.batch.max_context), threads, 0, args.kv_heads * tiles, sequences}, stream, args,
           first_sequence, splits_of(args.batch.max_context));
}

}  // namespace

std::size_t decode_scratch_bytes_per_sequence(const AttentionArgs& args) {
    return static_cast<std::size_t>(args.heads) * splits_of(args.batch.max_context) *
           part_floats(args.head_dim) * sizeof(float);
}

void launch_decode_attention(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream) {
    const auto fit = static_cast<std::int64_t>(scratch_bytes / decode_scratch_bytes_per_sequence(args));
    const int each = static_cast<int>(std::clamp<std::int64_t>(fit, 1, 32768));
    // With prompts in the batch, their kernel clears the empty rows.
    const int all =
        args.batch.max_new > 1 ? args.batch.sequences : std::max(args.batch.sequences, args.batch.rows);
    for (int first = 0; first < all; first += each) {
        const int sequences = std::min(each, all - first);
        switch (args.head_dim) {
            case 16:
                start<16>(args, first, sequences, stream);
                break;
            case 32:
                start<32>(args, first, sequences, stream);
                break;
            case 64:
                start<64>(args, first, sequences, stream);
                break;
            case 80:
                start<80>(args, first, sequences, stream);
                break;
            case 96:
                start<96>(args, first, sequences, stream);
                break;
            default:
                start<128>(args, first, sequences, stream);
        }
        if (splits_of(args.batch.max_context) > 1) launch_join_splits(args, first, sequences, stream);
    }
}

}  // namespace voltpile::llm
