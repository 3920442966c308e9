#include "llm/ops/cuda/attention_tiles.cuh"
#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/prepare_head.cuh"

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
    __half own[2][width];            // key and value of the row's token
    float2 turns[width / 2];         // fill_turns()
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

// What a block of decode_split() has.
struct SplitPlace {
    int sequence, row, position;
    int kv_head, first_head, heads;
    bool has_own;  // the split has the row's token
    bool writes;   // of all blocks with this split and KV head, this one writes the token to the cache
};

// Ops::rope_and_store for the block's heads: the queries to tiles.query, and in the split that has the row's
// token its key and value to tiles.own, which one of the blocks with this KV head also writes to the cache.
template <int width>
__device__ void prepare_heads(const AttentionArgs& a, const QkvSettings& s, const SplitPlace& at,
                              SplitTiles<width>& tiles) {
    constexpr int warps = attention_threads / 32, each = width / 32, rounds = (tile_heads + 2) / warps + 1;
    static_assert(warps * width * sizeof(float) <= sizeof(tiles.score));
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int dim = a.head_dim, wanted = at.heads + (at.has_own ? 2 : 0);
    float* const v = &tiles.score[0][0] + warp * width;
    const __half* const row = static_cast<const __half*>(a.qkv) + qkv_row(a, at.row);
    // The key and value come behind the queries.
    const auto kind_of = [&](int h) {
        const bool is_query = h < at.heads;
        return HeadKind{is_query, h == at.heads, is_query ? at.first_head + h : at.kv_head};
    };
    PreparedHead<each> prepared[rounds];
#pragma unroll
    for (int n = 0; n < rounds; ++n) {
        const int h = warp + n * warps;
        if (h >= wanted) continue;
        const HeadKind kind = kind_of(h);
        const int column = kind.index + (kind.is_query ? 0 : a.heads + (kind.is_key ? 0 : a.kv_heads));
        prepared[n].load(row + static_cast<std::int64_t>(column) * dim, s, kind);
    }
    for (int h = at.heads + warp; h < tile_heads; h += warps)
        for (int i = lane; i < width; i += 32) tiles.query[h][i] = __half(0.0f);
#pragma unroll
    for (int n = 0; n < rounds; ++n) {
        const int h = warp + n * warps;
        if (h >= wanted) continue;
        const HeadKind kind = kind_of(h);
        prepared[n].finish(s, kind, at.row, a.limit, tiles.turns, v);
        __half* const to = kind.is_query ? tiles.query[h] : tiles.own[kind.is_key ? 0 : 1];
        __half* cached = nullptr;
        if (!kind.is_query && at.writes)
            cached = static_cast<__half*>(kind.is_key ? a.cache.keys : a.cache.values) +
                     token_in_cache(a.batch, at.sequence, at.position, a.kv_heads, at.kv_head) * dim;
#pragma unroll
        for (int i = lane; i < width; i += 32) {
            const __half number = i < dim ? limited_half(v[i], a.limit) : __half(0.0f);
            to[i] = number;
            if (cached != nullptr && i < dim) cached[i] = number;
        }
        __syncwarp();
    }
}

// Replaces a token of the tile, which is complete, by `own`. All threads call it.
template <int width>
__device__ void replace_token(__half (&tile)[split_tokens][width + 8], int token, const __half* own) {
    const int i = static_cast<int>(threadIdx.x);
    if (i < width) tile[token][i] = own[i];
    __syncthreads();
}

// Grid: (splits, KV heads * tiles of heads_each heads, sequences from first_sequence on). prepares: with
// Ops::rope_and_store.
template <int width, KvElement element, bool prepares>
__global__ void __launch_bounds__(attention_threads, blocks_for<element>)
    decode_split(const AttentionArgs a, const QkvSettings settings, int first_sequence, int splits,
                 int heads_each) {
    constexpr bool both = copies_both<element>;
    extern __shared__ __align__(32) unsigned char shared[];
    auto& tiles = *reinterpret_cast<SplitTiles<width>*>(shared);
    let_next_kernel_begin();
    // The tokens before the row's own, which this kernel brings, come from earlier passes.
    if constexpr (!prepares) wait_for_earlier_kernels();

    const int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32, dim = a.head_dim;
    const int sequence = first_sequence + static_cast<int>(blockIdx.z);
    const int row = sequence < a.batch.sequences ? single_row(a, sequence) : -1;
    const int position = row < 0 ? 0 : a.batch.position[row], sees_from = first_position(a, position);
    const int split = static_cast<int>(blockIdx.x), begin = split * split_tokens, end = begin + split_tokens;
    const bool works = row >= 0 && begin <= position && end > sees_from;
    const int first = max(sees_from, begin), last = min(position, end - 1);
    const int group = a.heads / a.kv_heads, tiles_of_group = (group + heads_each - 1) / heads_each;
    const int kv_head = static_cast<int>(blockIdx.y) / tiles_of_group;
    const int first_head = kv_head * group + static_cast<int>(blockIdx.y) % tiles_of_group * heads_each;
    const int heads = min(heads_each, (kv_head + 1) * group - first_head);
    // Pages before the window may belong to another sequence by now.
    const int first_page = (first - begin) / kv_page_tokens, pages = (last - begin) / kv_page_tokens + 1;
    auto& keys = tiles.cached[0];
    auto& values = tiles.cached[both ? 1 : 0];
    TokenFetch<width, element> of_keys, of_values;
    const auto start_values = [&] {
        of_values.start(values, a.cache.values, a.cache.value_scales, tiles.page, dim, begin, first, last);
    };
    if (works) {
        if (t >= first_page && t < pages)
            tiles.page[t] = page_index(a, sequence, split * split_pages + t, kv_head);
        if constexpr (!prepares) {
            const __half* q = static_cast<const __half*>(a.qkv) + qkv_row(a, row) + first_head * dim;
            fetch<width>(tiles.query, dim, [&](int h, int piece) {
                return h < heads ? reinterpret_cast<const uint4*>(q + h * dim)[piece]
                                 : make_uint4(0, 0, 0, 0);
            });
        }
        if constexpr (prepares) fill_turns(settings, position, tiles.turns);
        __syncthreads();
        of_keys.start(keys, a.cache.keys, a.cache.key_scales, tiles.page, dim, begin, first, last);
        end_of_copies();
        if constexpr (values_early<element>) start_values();
        end_of_copies();
    }
    if constexpr (prepares) wait_for_earlier_kernels();
    if (blockIdx.x == 0 && sequence < a.batch.rows && a.batch.sequence[sequence] < 0) clear_row(a, sequence);
    if (!works) return;

    const bool has_own = prepares && last == position;
    if constexpr (prepares) {
        const bool writes = static_cast<int>(blockIdx.y) % tiles_of_group == 0;
        prepare_heads<width>(a, settings,
                             {sequence, row, position, kv_head, first_head, heads, has_own, writes}, tiles);
    }
    of_keys.store(keys);
    wait_for_earlier_copies<1>();
    __syncthreads();
    if (has_own) replace_token<width>(keys, position - begin, tiles.own[0]);

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
    if (has_own) replace_token<width>(values, position - begin, tiles.own[1]);

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

// How a launch divides its work.
struct DecodeShape {
    int splits;
    int heads_each;  // query heads of a block, at most tile_heads
    int tiles;       // of heads_each heads, of all KV heads
    int blocks(int sequences) const { return splits * tiles * sequences; }
};
DecodeShape shape_of(const AttentionArgs& args, int heads_each) {
    const int group = args.heads / args.kv_heads;
    return {splits_of(args.batch.max_context), heads_each,
            args.kv_heads * ((group + heads_each - 1) / heads_each)};
}

// A launch of few blocks takes as long as one block: blocks then have fewer heads. Only the blocks that run
// first prepare heads beside the kernel before; with more than run at once, another kernel does it.
constexpr int few_blocks = 64, few_heads = 4, most_preparing_blocks = 264;

template <int width, KvElement element, bool prepares>
void start(const AttentionArgs& args, const QkvSettings& settings, const DecodeShape& shape,
           int first_sequence, int sequences, const Stream& stream) {
    using Shared = SplitTiles<width>;
    constexpr std::size_t cached_bytes = sizeof(Shared::cached[0]);
    const bool both = element == KvElement::F16 && device_copies_alone();
    const std::size_t shared_bytes = sizeof(Shared) - (both ? 0 : cached_bytes);
    static_assert(2 * (sizeof(Shared) - cached_bytes) <= 96 * 1024, "two blocks a multiprocessor");
    const auto kernel = decode_split<width, element, prepares>;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes)),
               "shared memory of the attention");
    launch_early("attention of single rows", kernel,
                 {shape.splits, attention_threads, shared_bytes, shape.tiles, sequences}, stream, args,
                 settings, first_sequence, shape.splits, shape.heads_each);
}

template <int width>
void start(const AttentionArgs& args, const QkvSettings* prepare, const DecodeShape& shape,
           int first_sequence, int sequences, const Stream& stream) {
    if (prepare != nullptr)
        return start<width, KvElement::F16, true>(args, *prepare, shape, first_sequence, sequences, stream);
    with_element(args.cache.element, [&](auto element) {
        start<width, element, false>(args, {}, shape, first_sequence, sequences, stream);
    });
}

// The sequences that a launch looks at. If the batch has prompts, the prompt kernel clears the empty rows.
int sequences_of(const BatchView& batch) {
    return batch.max_new > 1 ? batch.sequences : max(batch.sequences, batch.rows);
}

}  // namespace

std::size_t decode_scratch_bytes_per_sequence(const AttentionArgs& args) {
    return static_cast<std::size_t>(args.heads) * splits_of(args.batch.max_context) *
           part_floats(args.head_dim) * sizeof(float);
}

bool prepares_heads(const AttentionArgs& args, const QkvSettings& settings) {
    return args.batch.max_new <= 1 && args.cache.element == KvElement::F16 &&
           args.cache.keys != args.cache.values && settings.row_squares == nullptr &&
           shape_of(args, tile_heads).blocks(sequences_of(args.batch)) <= most_preparing_blocks;
}

void launch_decode_attention(const AttentionArgs& args, const QkvSettings* prepare, std::size_t scratch_bytes,
                             const Stream& stream) {
    const int all = sequences_of(args.batch);
    DecodeShape shape = shape_of(args, tile_heads);
    if (shape.blocks(all) <= few_blocks) shape = shape_of(args, few_heads);
    const auto fit = static_cast<std::int64_t>(scratch_bytes / decode_scratch_bytes_per_sequence(args));
    const int each = static_cast<int>(min(max(fit, std::int64_t{1}), std::int64_t{32768}));
    for (int first = 0; first < all; first += each) {
        const int sequences = min(each, all - first);
        if (args.head_dim <= 64)
            start<64>(args, prepare, shape, first, sequences, stream);
        else
            start<128>(args, prepare, shape, first, sequences, stream);
        if (shape.splits > 1) launch_join_splits(args, first, sequences, stream);
    }
}

}  // namespace voltpile::llm
