#include "llm/ops/cuda/attention_tiles.cuh"
#include "llm/ops/cuda/early_launch.cuh"

namespace voltpile::llm {

namespace {

using namespace nvcuda;

constexpr int split_pages = split_tokens / kv_page_tokens;
constexpr int tile_heads = 16;  // query heads of a KV head in a tensor core tile

template <int width>
struct SplitTiles {
    static constexpr int stride = width + 8;
    __half query[tile_heads][stride];
    float score[tile_heads][score_stride];
    SplitSum sums[tile_heads];
    std::int64_t page[split_pages];  // page_index() of the split's pages
    // Keys in the first buffer. Values in the second if both can be copied at the same time, otherwise also
    // in the first.
    __half cached[2][split_tokens][stride];
};
template <KvElement element>
constexpr bool copies_both = copies_run_alone&& element == KvElement::F16;
// Values are loaded before the keys have arrived, by asynchronous copies or, if quantized, to registers; for
// fp16 there are not enough registers.
template <KvElement element>
constexpr bool values_early = copies_both<element> || element != KvElement::F16;

// Blocks per multiprocessor; two fit in 96 KB of shared memory. Loads to registers need more blocks to hide
// their latency.
template <KvElement element>
constexpr int blocks_for = element == KvElement::F16 ? 2 : 3;

// Clears the output of an empty row. The blocks of one split share the work.
__device__ void clear_row(const AttentionArgs& a, int row) {
    const int width = a.heads * a.head_dim, blocks = static_cast<int>(gridDim.y);
    const int each = (width + blocks - 1) / blocks, begin = static_cast<int>(blockIdx.y) * each;
    const int end = min(width, begin + each);
    for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += attention_threads)
        out_head(a, row, 0)[i] = __half(0.0f);
}

// Grid: (splits, KV heads * tiles of heads, sequences from first_sequence on).
template <int width, KvElement element>
__global__ void __launch_bounds__(attention_threads, blocks_for<element>)
    decode_split(const AttentionArgs a, int first_sequence, int splits) {
    constexpr bool both = copies_both<element>;
    extern __shared__ __align__(32) unsigned char shared[];
    auto& tiles = *reinterpret_cast<SplitTiles<width>*>(shared);
    begin_after_earlier_kernels();

    const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32, dim = a.head_dim;
    const int sequence = first_sequence + static_cast<int>(blockIdx.z);
    if (blockIdx.x == 0 && sequence < a.batch.rows && a.batch.sequence[sequence] < 0) clear_row(a, sequence);
    const int row = sequence < a.batch.sequences ? single_row(a, sequence) : -1;
    if (row < 0) return;
    const int position = a.batch.position[row], sees_from = first_position(a, position);
    const int split = static_cast<int>(blockIdx.x), begin = split * split_tokens, end = begin + split_tokens;
    if (begin > position || end <= sees_from) return;
    const int first = max(sees_from, begin), last = min(position, end - 1);
    const int group = a.heads / a.kv_heads, tiles_of_group = (group + tile_heads - 1) / tile_heads;
    const int kv_head = static_cast<int>(blockIdx.y) / tiles_of_group;
    const int first_head = kv_head * group + static_cast<int>(blockIdx.y) % tiles_of_group * tile_heads;
    const int heads = min(tile_heads, (kv_head + 1) * group - first_head);
    // Pages before the window may belong to another sequence by now.
    const int first_page = (first - begin) / kv_page_tokens, pages = (last - begin) / kv_page_tokens + 1;

    if (t >= first_page && t < pages)
        tiles.page[t] = page_index(a, sequence, split * split_pages + t, kv_head);
    const __half* q = static_cast<const __half*>(a.qkv) + qkv_row(a, row) + first_head * dim;
    fetch<width>(tiles.query, dim, [&](int h, int piece) {
        return h < heads ? reinterpret_cast<const uint4*>(q + h * dim)[piece] : make_uint4(0, 0, 0, 0);
    });
    __syncthreads();
    auto& keys = tiles.cached[0];
    auto& values = tiles.cached[both ? 1 : 0];
    TokenFetch<width, element> of_keys, of_values;
    const auto start_values = [&] {
        of_values.start(values, a.cache.values, a.cache.value_scales, tiles.page, dim, begin, first, last);
    };
    of_keys.start(keys, a.cache.keys, a.cache.key_scales, tiles.page, dim, begin, first, last);
    end_of_copies();
    if constexpr (values_early<element>) start_values();
    end_of_copies();
    of_keys.store(keys);
    wait_for_earlier_copies<1>();
    __syncthreads();

    // Scores: one page per warp.
    static_assert(split_pages == attention_threads / 32);
    if (warp >= first_page && warp < pages) {
        Accumulator s;
        wmma::fill_fragment(s, 0.0f);
#pragma unroll
        for (int d = 0; d < width; d += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> qs;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> ks;
            wmma::load_matrix_sync(qs, &tiles.query[0][d], SplitTiles<width>::stride);
            wmma::load_matrix_sync(ks, &keys[warp * kv_page_tokens][d], SplitTiles<width>::stride);
            wmma::mma_sync(s, qs, ks, s);
        }
        wmma::store_matrix_sync(&tiles.score[0][warp * kv_page_tokens], s, score_stride, wmma::mem_row_major);
    }
    __syncthreads();
    if constexpr (!values_early<element>) start_values();
    of_values.store(values);

    // Softmax of the split: 4 heads per warp. The weights overwrite the scores.
    auto* weight = reinterpret_cast<__half*>(&tiles.score[0][0]);
    if (const int h = warp * 4; h < heads) {
        SplitSum of_heads[4];
        soften_split(
            tiles.score[h], score_stride, weight + h * weight_stride, weight_stride, begin, softmax_scale(a),
            [&](int) {
                return SeenRange{first, last};
            },
            of_heads);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (lane == 0) tiles.sums[h + i] = of_heads[i];
        }
    }
    wait_for_copies();
    __syncthreads();

    // Values: 16 columns per warp. Unseen tokens in the first and last page were loaded as 0.
    Accumulator sum;
    wmma::fill_fragment(sum, 0.0f);
    const int column = warp * 16;
    if (column < width) {
#pragma unroll 4
        for (int page = first_page; page < pages; ++page) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> ws;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> vs;
            wmma::load_matrix_sync(ws, weight + page * kv_page_tokens, weight_stride);
            wmma::load_matrix_sync(vs, &values[page * kv_page_tokens][column], SplitTiles<width>::stride);
            wmma::mma_sync(sum, ws, vs, sum);
        }
    }
    __syncthreads();
    auto& results = tiles.score;  // the weights are no longer needed
    static_assert(width <= score_stride);
    if (column < width) wmma::store_matrix_sync(&results[0][column], sum, score_stride, wmma::mem_row_major);
    __syncthreads();
    const bool only = begin <= sees_from && end > position;
    for (int i = t; i < heads * width; i += attention_threads) {
        const int h = i / width, d = i % width, head = first_head + h;
        if (d >= dim) continue;
        if (only) {
            out_head(a, row, head)[d] =
                limited_half(__fdiv_rn(results[h][d], denominator(a, head, tiles.sums[h])), a.limit);
        } else {
            float* part = part_of(a, static_cast<int>(blockIdx.z), head, split, splits);
            part[2 + d] = results[h][d];
            if (d == 0) {
                part[0] = tiles.sums[h].largest;
                part[1] = tiles.sums[h].total;
            }
        }
    }
}

template <int width, KvElement element>
void start(const AttentionArgs& args, int first_sequence, int sequences, const Stream& stream) {
    using Shared = SplitTiles<width>;
    constexpr std::size_t cached_bytes = sizeof(Shared::cached[0]);
    const bool both = element == KvElement::F16 && device_copies_alone();
    const std::size_t shared_bytes = sizeof(Shared) - (both ? 0 : cached_bytes);
    static_assert(2 * (sizeof(Shared) - cached_bytes) <= 96 * 1024, "two blocks a multiprocessor");
    const int group = args.heads / args.kv_heads, tiles = (group + tile_heads - 1) / tile_heads;
    cuda_check(cudaFuncSetAttribute(decode_split<width, element>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes)),
               "shared memory of the attention");
    launch_early("attention of single rows", decode_split<width, element>,
                 {splits_of(args.batch.max_context), attention_threads, shared_bytes, args.kv_heads * tiles,
                  sequences},
                 stream, args, first_sequence, splits_of(args.batch.max_context));
}

template <int width>
void start(const AttentionArgs& args, int first_sequence, int sequences, const Stream& stream) {
    with_element(args.cache.element,
                 [&](auto element) { start<width, element>(args, first_sequence, sequences, stream); });
}

}  // namespace

std::size_t decode_scratch_bytes_per_sequence(const AttentionArgs& args) {
    return static_cast<std::size_t>(args.heads) * splits_of(args.batch.max_context) *
           part_floats(args.head_dim) * sizeof(float);
}

void launch_decode_attention(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream) {
    const auto fit = static_cast<std::int64_t>(scratch_bytes / decode_scratch_bytes_per_sequence(args));
    const int each = static_cast<int>(min(max(fit, std::int64_t{1}), std::int64_t{32768}));
    // If the batch has prompts, the prompt kernel clears the empty rows.
    const int all =
        args.batch.max_new > 1 ? args.batch.sequences : max(args.batch.sequences, args.batch.rows);
    for (int first = 0; first < all; first += each) {
        const int sequences = min(each, all - first);
        if (args.head_dim <= 64)
            start<64>(args, first, sequences, stream);
        else
            start<128>(args, first, sequences, stream);
        if (splits_of(args.batch.max_context) > 1) launch_join_splits(args, first, sequences, stream);
    }
}

}  // namespace voltpile::llm
