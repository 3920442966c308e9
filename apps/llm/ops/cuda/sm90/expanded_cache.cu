#include "llm/ops/cuda/sm90/expanded_cache.h"

#include "llm/model/gpu_memory.h"
#include "llm/ops/cuda/attention.cuh"

namespace voltpile::llm {

namespace {

constexpr int threads = 128;

// The expanded cache: keys and values, (BatchView::prompt_pages, kv_heads, kv_page_tokens, head_dim) each,
// the pages of one sequence after those of another, and then the page table, (sequences, pages).
struct Expanded {
    __half* keys;
    __half* values;
    std::int32_t* table;
    int pages;  // of a sequence, at most
};

struct Extent {
    std::size_t numbers, table;
};
Extent extent_of(const AttentionArgs& args) {
    const auto pages = static_cast<std::size_t>(pages_for(args.batch.max_context));
    return {static_cast<std::size_t>(args.batch.prompt_pages) *
                static_cast<std::size_t>(args.kv_heads * kv_page_tokens * args.head_dim),
            static_cast<std::size_t>(args.batch.sequences) * pages};
}

// Returns the pages of the contexts of prompts before this sequence. All threads call it.
__device__ int pages_before(const AttentionArgs& a, int sequence) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    int mine = 0;
    for (int s = static_cast<int>(threadIdx.x); s < sequence; s += threads)
        if (has_prompt(a, s)) mine += a.batch.position[a.batch.row_begin[s + 1] - 1] / kv_page_tokens + 1;
    if (mine > 0) atomicAdd(&sum, mine);
    __syncthreads();
    return sum;
}

template <KvElement element>
__device__ void expand_page(const void* numbers, const void* scales, std::int64_t page, int head_dim,
                            __half* to) {
    using Page = CachedPage<element>;
    const Page from(numbers, scales, page, head_dim);
    const int pieces = head_dim / Page::piece_numbers;
    for (int i = static_cast<int>(threadIdx.x); i < kv_page_tokens * pieces; i += threads) {
        const int token = i / pieces, piece = i % pieces;
        const typename Page::Raw raw = from.load(token, piece, head_dim);
        auto* const out = reinterpret_cast<uint4*>(to + token * head_dim + piece * Page::piece_numbers);
#pragma unroll
        for (int eight = 0; eight < Page::piece_numbers / 8; ++eight) out[eight] = Page::halves(raw, eight);
    }
}

// Grid: (pages, sequences, KV heads).
template <KvElement element>
__global__ void __launch_bounds__(threads) expand_pages(const AttentionArgs a, const Expanded to) {
    const int page = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y),
              kv_head = static_cast<int>(blockIdx.z);
    if (!has_prompt(a, sequence)) return;
    const int begin = a.batch.row_begin[sequence], end = a.batch.row_begin[sequence + 1];
    // Pages before the window may belong to another sequence by now.
    if (page < first_position(a, a.batch.position[begin]) / kv_page_tokens ||
        page > a.batch.position[end - 1] / kv_page_tokens)
        return;
    const int place = pages_before(a, sequence) + page;
    if (kv_head == 0 && threadIdx.x == 0) to.table[sequence * to.pages + page] = place;
    const std::int64_t from = page_index(a, sequence, page, kv_head);
    const std::int64_t out =
        (static_cast<std::int64_t>(place) * a.kv_heads + kv_head) * (kv_page_tokens * a.head_dim);
    expand_page<element>(a.cache.keys, a.cache.key_scales, from, a.head_dim, to.keys + out);
    expand_page<element>(a.cache.values, a.cache.value_scales, from, a.head_dim, to.values + out);
}

}  // namespace

std::size_t expanded_cache_bytes(const AttentionArgs& args) {
    const Extent extent = extent_of(args);
    return 2 * extent.numbers * sizeof(__half) + gpu_piece_bytes(extent.table * sizeof(std::int32_t));
}

AttentionArgs expand_cache(const AttentionArgs& args, std::uint8_t* memory, const Stream& stream) {
    const Extent extent = extent_of(args);
    auto* const keys = reinterpret_cast<__half*>(memory);
    const Expanded to{keys, keys + extent.numbers,
                      reinterpret_cast<std::int32_t*>(memory + 2 * extent.numbers * sizeof(__half)),
                      pages_for(args.batch.max_context)};
    launch("expanding a quantized cache",
           args.cache.element == KvElement::I8 ? expand_pages<KvElement::I8> : expand_pages<KvElement::I4>,
           {to.pages, threads, 0, args.batch.sequences, args.kv_heads}, stream, args, to);
    AttentionArgs expanded = args;
    expanded.cache.element = KvElement::F16;
    expanded.cache.keys = to.keys;
    expanded.cache.values = to.values;
    expanded.batch.page_table = to.table;
    expanded.batch.max_pages = to.pages;
    return expanded;
}

}  // namespace voltpile::llm
