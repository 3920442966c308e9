#include "llm/ops/cuda/cluster_join.cuh"
#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/prepare_head.cuh"

namespace voltpile::llm {

namespace {

// Clears the output of an empty row. The blocks of one split share the work.
__device__ void clear_row(const AttentionArgs& a, int row) {
    const int width = a.heads * a.head_dim, blocks = static_cast<int>(gridDim.y);
    const int each = (width + blocks - 1) / blocks, begin = static_cast<int>(blockIdx.y) * each;
    const int end = min(width, begin + each);
    for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += attention_threads)
        out_head(a, row, 0)[i] = __half(0.0f);
}

// Ops::rope_and_store for the block's heads: the queries to tiles.query, and in the block that has the row's
// token its key and value to tiles.own, which the first block with this KV head also writes to the cache.
template <int width>
__device__ void prepare_heads(const AttentionArgs& a, const QkvSettings& s, const DecodePlace& at,
                              SplitTiles<width>& tiles) {
    constexpr int warps = attention_threads / 32, each = width / 32;
    static_assert(warps * width * sizeof(float) <= sizeof(tiles.score));
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int dim = a.head_dim, wanted = at.heads + (at.has_own() ? 2 : 0);
    float* const v = &tiles.score[0][0][0] + warp * width;
    const __half* const row = static_cast<const __half*>(a.qkv) + qkv_row(a, at.row);
    // The key and value come behind the queries.
    const auto kind_of = [&](int h) {
        const bool is_query = h < at.heads;
        return HeadKind{is_query, h == at.heads, is_query ? at.first_head + h : at.kv_head};
    };
    const auto load = [&](int h) {
        PreparedHead<each> head{};
        if (h >= wanted) return head;
        const HeadKind kind = kind_of(h);
        const int column = kind.index + (kind.is_query ? 0 : a.heads + (kind.is_key ? 0 : a.kv_heads));
        head.load(row + static_cast<std::int64_t>(column) * dim, s, kind);
        return head;
    };
    PreparedHead<each> head = load(warp);
    for (int h = at.heads + warp; h < tile_heads; h += warps)
        for (int i = lane; i < width; i += 32) tiles.query[h][i] = __half(0.0f);
#pragma unroll 1
    for (int h = warp; h < wanted; h += warps) {
        const HeadKind kind = kind_of(h);
        const PreparedHead<each> next = load(h + warps);
        head.finish(s, kind, at.row, a.limit, tiles.turns, v);
        head = next;
        __half* const to = kind.is_query ? tiles.query[h] : tiles.own[kind.is_key ? 0 : 1];
        __half* cached = nullptr;
        if (!kind.is_query && at.tile == 0)
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
__device__ void replace_token(__half (&tile)[split_tokens][SplitTiles<width>::stride], int token,
                              const __half* own) {
    const int i = static_cast<int>(threadIdx.x);
    if (i < width) tile[token][i] = own[i];
    __syncthreads();
}

// Grid: (shape.parts, shape.tiles, sequences from first_sequence on). prepares: with Ops::rope_and_store.
// While a split is computed, asynchronous copies of the next one are on their way.
template <int width, KvElement element, bool prepares>
__global__ void __launch_bounds__(attention_threads, blocks_for<element>)
    decode_splits(const AttentionArgs a, const QkvSettings settings, int first_sequence,
                  const DecodeShape shape) {
    constexpr bool both = copies_both<element>;
    extern __shared__ __align__(32) unsigned char shared[];
    auto& tiles = *reinterpret_cast<SplitTiles<width>*>(shared);
    // With several rows, the product that comes next would bring so many weights before it waits that the
    // product before would get less of the memory (measured).
    const bool lets_early = a.batch.rows == 1;
    if (lets_early) let_next_kernel_begin();
    const auto wait = [&] {
        wait_for_earlier_kernels();
        if (!lets_early) let_next_kernel_begin();
    };
    // The tokens before the row's own, which this kernel brings, come from earlier passes.
    if constexpr (!prepares) wait();

    const int t = static_cast<int>(threadIdx.x), dim = a.head_dim;
    const int sequence = first_sequence + static_cast<int>(blockIdx.z);
    const DecodePlace place(a, shape, sequence);
    const int begin = place.first / split_tokens * split_tokens;  // of the first split
    const int pages_begin = static_cast<int>(blockIdx.x) * shape.splits_each * split_pages;
    auto& keys = tiles.cached[0];
    auto& values = tiles.cached[both ? 1 : 0];
    TokenFetch<width, element> of_keys, of_values;
    const auto pages_of = [&](int at) { return tiles.page + at / kv_page_tokens - pages_begin; };
    const auto start_keys = [&](int at) {
        of_keys.start(keys, a.cache.keys, a.cache.key_scales, pages_of(at), dim, 0, at, place.first,
                      place.last);
    };
    const auto start_values = [&](int at) {
        of_values.start(values, a.cache.values, a.cache.value_scales, pages_of(at), dim, 0, at, place.first,
                        place.last);
    };
    // The pages of the whole part, so that their loads do not wait for the row's position. Those outside the
    // row's tokens are not used.
    if (sequence < a.batch.sequences && t < shape.splits_each * split_pages &&
        pages_begin + t < a.batch.max_pages)
        tiles.page[t] = page_index(a, sequence, pages_begin + t, place.kv_head);
    if (place.works) {
        if (t < tile_heads) tiles.all[t] = {-INFINITY, 0};
        ValueSums<width>::number_heads(tiles.score[0]);
        if constexpr (!prepares) {
            const __half* q =
                static_cast<const __half*>(a.qkv) + qkv_row(a, place.row) + place.first_head * dim;
            fetch<width>(tiles.query, dim, [&](int h, int piece) {
                return h < place.heads ? reinterpret_cast<const uint4*>(q + h * dim)[piece]
                                       : make_uint4(0, 0, 0, 0);
            });
        }
        __syncthreads();
        start_keys(begin);
        end_of_copies();
        if constexpr (values_early<element>) start_values(begin);
        end_of_copies();
        if constexpr (prepares) fill_turns(settings, place.position, tiles.turns);
    }
    if constexpr (prepares) wait();
    if (blockIdx.x == 0 && sequence < a.batch.rows && a.batch.sequence[sequence] < 0) clear_row(a, sequence);
    if (!place.works) {
        if (joins_in_clusters<element> && shape.clusters) join_in_cluster<width>(a, place, tiles);
        return;
    }

    const bool has_own = prepares && place.has_own();
    ValueSums<width> sums(tiles.score[0]);
    if constexpr (prepares) {
        __syncthreads();  // heads are prepared in the place of the scores
        prepare_heads<width>(a, settings, place, tiles);
    }

    for (int at = begin;; at += split_tokens) {
        const SplitTokens split(place, at);
        const bool is_last = at + split_tokens > place.last;
        of_keys.store(keys);
        wait_for_earlier_copies<1>();
        __syncthreads();
        if (has_own && is_last) replace_token<width>(keys, place.position - at, tiles.own[0]);
        score_tokens<width>(&keys, split, tiles);
        __syncthreads();
        if constexpr (!values_early<element>) start_values(at);
        of_values.store(values);
        if (both && !is_last) start_keys(at + split_tokens);
        end_of_copies();
        weigh_tokens<false>(a, place.heads, split, tiles);
        wait_for_earlier_copies<1>();
        __syncthreads();
        if (has_own && is_last) replace_token<width>(values, place.position - at, tiles.own[1]);
        sums.add(&values, split, tiles);
        __syncthreads();
        if (is_last) break;
        if constexpr (!both) start_keys(at + split_tokens);
        if constexpr (values_early<element>) start_values(at + split_tokens);
        end_of_copies();
    }
    sums.store(tiles);
    __syncthreads();
    if (joins_in_clusters<element> && shape.clusters)
        join_in_cluster<width>(a, place, tiles);
    else
        write_results<width, element>(a, place, tiles);
}

// Like decode_splits(), but without overlapping copies and computation: for heads with a soft cap or with two
// parts of columns.
template <int width, KvElement element, bool capped>
__global__ void __launch_bounds__(attention_threads, copies_run_alone ? 2 : 1)
    decode_in_turn(const AttentionArgs a, int first_sequence, const DecodeShape shape) {
    extern __shared__ __align__(32) unsigned char shared[];
    using Tiles = SplitTiles<width>;
    auto& tiles = *reinterpret_cast<Tiles*>(shared);
    begin_after_earlier_kernels();
    const int t = static_cast<int>(threadIdx.x), dim = a.head_dim;
    const int sequence = first_sequence + static_cast<int>(blockIdx.z);
    const DecodePlace place(a, shape, sequence);
    if (blockIdx.x == 0 && sequence < a.batch.rows && a.batch.sequence[sequence] < 0) clear_row(a, sequence);
    if (!place.works) return;
    const int pages_begin = static_cast<int>(blockIdx.x) * shape.splits_each * split_pages;
    if (t < shape.splits_each * split_pages && pages_begin + t < a.batch.max_pages)
        tiles.page[t] = page_index(a, sequence, pages_begin + t, place.kv_head);
    if (t < tile_heads) tiles.all[t] = {-INFINITY, 0};
    ValueSums<width>::number_heads(tiles.score[0]);
    const __half* q = static_cast<const __half*>(a.qkv) + qkv_row(a, place.row) + place.first_head * dim;
    fetch<width>(tiles.query, dim, [&](int h, int piece) {
        return h < place.heads ? reinterpret_cast<const uint4*>(q + h * dim)[piece] : make_uint4(0, 0, 0, 0);
    });
    __syncthreads();
    ValueSums<width> sums(tiles.score[0]);
    const auto bring = [&](const void* cache, const void* scales, int at) {
        for (int part = 0; part < Tiles::parts; ++part) {
            TokenFetch<Tiles::columns, element> tokens;
            tokens.start(tiles.cached[part], cache, scales, tiles.page + at / kv_page_tokens - pages_begin,
                         dim, part * Tiles::columns, at, place.first, place.last);
            tokens.store(tiles.cached[part]);
        }
    };
    for (int at = place.first / split_tokens * split_tokens; at <= place.last; at += split_tokens) {
        const SplitTokens split(place, at);
        bring(a.cache.keys, a.cache.key_scales, at);
        wait_for_copies();
        __syncthreads();
        score_tokens<width>(tiles.cached, split, tiles);
        __syncthreads();
        bring(a.cache.values, a.cache.value_scales, at);
        weigh_tokens<capped>(a, place.heads, split, tiles);
        wait_for_copies();
        __syncthreads();
        sums.add(tiles.cached, split, tiles);
        __syncthreads();
    }
    sums.store(tiles);
    __syncthreads();
    write_results<width, element>(a, place, tiles);
}

// Few blocks work on one split each, and take as long as one of them: blocks then have fewer heads. More
// blocks than fill a GPU work on spans.
constexpr int few_blocks = 64, few_heads = 4, filling_blocks = 192;

bool in_turn(const AttentionArgs& args) {
    return args.head_dim > 128 || args.soft_cap > 0;
}

DecodeShape shape_of(const AttentionArgs& args, int splits_each, int heads_each) {
    const int group = args.heads / args.kv_heads, splits = splits_of(args.batch.max_context);
    const int parts = (splits + splits_each - 1) / splits_each;
    return {splits_each, heads_each, parts, args.kv_heads * ((group + heads_each - 1) / heads_each),
            splits_each == 1 && parts > 1 && parts <= most_joined_parts && !in_turn(args) &&
                args.cache.element == KvElement::F16 && device_launches_early()};
}
DecodeShape shape_of(const AttentionArgs& args, int sequences) {
    const DecodeShape spans = shape_of(args, span_splits, tile_heads);
    if (spans.blocks(sequences) >= filling_blocks) return spans;
    const DecodeShape splits = shape_of(args, 1, tile_heads);
    return splits.blocks(sequences) > few_blocks ? splits : shape_of(args, 1, few_heads);
}

// Only the blocks that run first prepare heads beside the kernel before. With more than run at once another
// kernel does it, unless each would prepare other heads.
constexpr int most_preparing_blocks = 264;

template <int width, KvElement element, bool prepares>
void start(const AttentionArgs& args, const QkvSettings& settings, const DecodeShape& shape,
           int first_sequence, int sequences, const Stream& stream) {
    using Shared = SplitTiles<width>;
    constexpr std::size_t cached_bytes = sizeof(Shared::cached[0]);
    const bool both = element == KvElement::F16 && device_copies_alone();
    const std::size_t shared_bytes = sizeof(Shared) - (both ? 0 : cached_bytes);
    static_assert(2 * (sizeof(Shared) - cached_bytes) <= 96 * 1024, "two blocks a multiprocessor");
    const auto kernel = decode_splits<width, element, prepares>;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes)),
               "shared memory of the attention");
    launch_early_in_clusters("attention of single rows", kernel,
                             {shape.parts, attention_threads, shared_bytes, shape.tiles, sequences},
                             shape.clusters ? shape.parts : 1, stream, args, settings, first_sequence, shape);
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

template <int width, bool capped>
void start_in_turn(const AttentionArgs& args, const DecodeShape& shape, int first_sequence, int sequences,
                   const Stream& stream) {
    constexpr std::size_t bytes = sizeof(SplitTiles<width>);
    static_assert(bytes <= 96 * 1024 && column_parts<width> <= 2);
    const auto kernel =
        with_element(args.cache.element, [](auto element) { return decode_in_turn<width, element, capped>; });
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               "shared memory of the attention");
    launch_early("attention of single rows", kernel,
                 {shape.parts, attention_threads, bytes, shape.tiles, sequences}, stream, args,
                 first_sequence, shape);
}

void start_in_turn(const AttentionArgs& args, const DecodeShape& shape, int first_sequence, int sequences,
                   const Stream& stream) {
    const bool capped = args.soft_cap > 0;
    const auto start = args.head_dim <= 128 ? start_in_turn<128, true>
                       : capped             ? start_in_turn<256, true>
                                            : start_in_turn<256, false>;
    start(args, shape, first_sequence, sequences, stream);
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
    if (args.batch.max_new > 1 || args.cache.element != KvElement::F16 ||
        args.cache.keys == args.cache.values || settings.row_squares != nullptr || in_turn(args))
        return false;
    const int sequences = sequences_of(args.batch);
    const DecodeShape shape = shape_of(args, sequences);
    return shape.parts == 1 || shape.blocks(sequences) <= most_preparing_blocks;
}

void launch_decode_attention(const AttentionArgs& args, const QkvSettings* prepare, std::size_t scratch_bytes,
                             const Stream& stream) {
    const int all = sequences_of(args.batch);
    const DecodeShape shape = shape_of(args, all);
    const auto fit = static_cast<std::int64_t>(scratch_bytes / decode_scratch_bytes_per_sequence(args));
    const int each = static_cast<int>(min(max(fit, std::int64_t{1}), std::int64_t{32768}));
    for (int first = 0; first < all; first += each) {
        const int sequences = min(each, all - first);
        if (in_turn(args))
            start_in_turn(args, shape, first, sequences, stream);
        else if (args.head_dim <= 64)
            start<64>(args, prepare, shape, first, sequences, stream);
        else
            start<128>(args, prepare, shape, first, sequences, stream);
        if (shape.parts > 1 && !shape.clusters)
            launch_join_parts(args, shape.splits_each, first, sequences, stream);
    }
}

}  // namespace voltpile::llm
