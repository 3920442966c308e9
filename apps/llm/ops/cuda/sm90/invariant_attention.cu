// launch_invariant_attention(): a block has 128 rows of one KV head, a warp 16 of them, and all of the
// context.
#include "base/error.h"
#include "llm/ops/cuda/attention_tiles.cuh"
#include "llm/ops/cuda/sm90/invariant_rows.cuh"

namespace voltpile::llm {

namespace {

constexpr int block_rows = attention_threads / 32 * warp_rows;
constexpr int split_pages = split_tokens / kv_page_tokens;

template <int width>
struct InvariantShared {
    __half query[block_rows][width + 8];
    // Of a split and the next one. page: page_index() of their pages.
    __half keys[2][split_tokens][width + 8], values[2][split_tokens][width + 8];
    std::int32_t page[2][split_pages];
    Piece piece;
};

// Grid: (KV heads, pieces from first_piece on).
template <int width>
__global__ void __launch_bounds__(attention_threads, 1)
    attend_invariantly(const __grid_constant__ AttentionArgs a, int first_piece) {
    extern __shared__ __align__(32) unsigned char memory[];
    auto& shared = *reinterpret_cast<InvariantShared<width>*>(memory);
    const int t = static_cast<int>(threadIdx.x), kv_head = static_cast<int>(blockIdx.x);
    if (t < 32) {
        const Piece piece = find_piece<block_rows>(a, first_piece + static_cast<int>(blockIdx.y), 2);
        if (t == 0) shared.piece = piece;
    }
    clear_empty_rows(a, t, attention_threads, static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x),
                     static_cast<int>(gridDim.x * gridDim.y));
    __syncthreads();
    const Piece& piece = shared.piece;
    if (piece.sequence < 0) return;

    const int group = a.heads / a.kv_heads;
    const auto* qkv = static_cast<const __half*>(a.qkv);
    fetch<width>(shared.query, width, [&](int r, int of_row) {
        const int row = min(piece.first_row + r, piece.rows - 1);
        const auto* const q =
            qkv + qkv_row(a, piece.batch_row + row / group) + (kv_head * group + row % group) * width;
        return reinterpret_cast<const uint4*>(q)[of_row];
    });
    const int first = first_position(a, piece.position + piece.first_row / group);
    const int last = piece.position + (min(piece.first_row + block_rows, piece.rows) - 1) / group;
    const int begin = first / split_tokens * split_tokens;
    const auto bring_pages = [&](int split, int to) {
        if (t >= split_pages) return;
        const int page = min(max(split / kv_page_tokens + t, first / kv_page_tokens), last / kv_page_tokens);
        shared.page[to][t] = page_index(a, piece.sequence, page, kv_head);
    };
    const auto copy = [&](int split, int to) {
        TokenFetch<width, KvElement::F16> fetch_cached;
        fetch_cached.start(shared.keys[to], a.cache.keys, nullptr, shared.page[to], width, split, first,
                           last);
        fetch_cached.start(shared.values[to], a.cache.values, nullptr, shared.page[to], width, split, first,
                           last);
    };

    bring_pages(begin, 0);
    bring_pages(begin + split_tokens, 1);
    __syncthreads();
    copy(begin, 0);
    const int row = t / 32 * warp_rows;
    InvariantRows<width> rows(a, piece, piece.first_row + row);
    const float scale = softmax_scale(a);
    const bool joins = begin / span_tokens != last / span_tokens;
    float* const joined =
        a.scratch + static_cast<std::int64_t>(blockIdx.y * gridDim.x + blockIdx.x) * block_rows * width + t;
    int at = 0;
#pragma unroll 1
    for (int split = begin; split <= last; split += split_tokens, at ^= 1) {
        const int next = split + split_tokens;
        wait_for_copies();
        __syncthreads();
        if (next <= last) copy(next, at ^ 1);
        if (rows.sees(split)) {
            rows.score(shared.query, row, shared.keys[at]);
            rows.soften(split, scale);
            rows.add(shared.values[at]);
        }
        bring_pages(next + split_tokens, at);
        if (joins && (next % span_tokens == 0 || next > last)) {
            rows.end_span(joined, attention_threads);
            rows.begin_span();
        }
    }
    if (joins)
        rows.take(joined, attention_threads);
    else
        rows.end_only_span();
    rows.store(piece, piece.first_row + row, kv_head);
}

template <int width>
void start(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream) {
    cuda_check(cudaFuncSetAttribute(attend_invariantly<width>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(sizeof(InvariantShared<width>))),
               "shared memory of the attention");
    // Each sequence needs at most one more piece than its share of the rows.
    const int pieces = args.batch.rows * (args.heads / args.kv_heads) / block_rows + args.batch.sequences;
    // Sums over earlier spans wait in scratch.
    int each = pieces;
    if (args.batch.max_context > span_tokens) {
        const std::size_t piece_bytes =
            sizeof(float) * block_rows * width * static_cast<std::size_t>(args.kv_heads);
        each = static_cast<int>(min(scratch_bytes / piece_bytes, static_cast<std::size_t>(pieces)));
        if (each == 0) throw DeviceError("attention needs more scratch memory");
    }
    for (int first = 0; first < pieces; first += each)
        launch("attention of prompts", attend_invariantly<width>,
               {args.kv_heads, attention_threads, sizeof(InvariantShared<width>), min(each, pieces - first)},
               stream, args, first);
}

}  // namespace

void launch_invariant_attention(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream) {
    if (args.head_dim == 64)
        start<64>(args, scratch_bytes, stream);
    else
        start<128>(args, scratch_bytes, stream);
}

}  // namespace voltpile::llm
