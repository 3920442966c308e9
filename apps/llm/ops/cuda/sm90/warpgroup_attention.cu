// Attention of prompts on compute capability 9.0. Two warpgroups compute 64 rows each; a third copies keys
// and values into stages of shared memory. While a warpgroup computes the softmax of one stage, the tensor
// cores multiply the values of the stage before, and the other warpgroup's products.
#include "llm/ops/cuda/sm90/attention_rows.cuh"

namespace voltpile::llm {

namespace {

template <int width>
__device__ void copy_stage(const void* cache, const View& view, int stage_index, std::int64_t page_of_lane,
                           Swizzled<width, block_tokens>& to) {
    constexpr int pieces = width / 8, step = warpgroup_threads / pieces;  // tokens at a time
    const int t = static_cast<int>(threadIdx.x) % warpgroup_threads, piece = t % pieces, row = t / pieces;
    const auto* from = static_cast<const __half*>(cache) + row * width + piece * 8;
    const int first = stage_index * block_tokens + row - view.low;
    const auto seen = static_cast<unsigned>(view.high - view.low);
#pragma unroll
    for (int page = 0; page < block_pages; ++page) {
        const __half* from_page =
            from + __shfl_sync(0xffffffffu, page_of_lane, page) * (kv_page_tokens * width);
#pragma unroll
        for (int i = 0; i < kv_page_tokens; i += step) {
            const int token = page * kv_page_tokens + i;
            copy_alone(piece_of<width, block_tokens>(to, token + row, piece), from_page + i * width,
                       static_cast<unsigned>(first + token) <= seen);
        }
    }
}

// What the warpgroup that copies does.
template <int width>
__device__ void copy_context(const AttentionArgs& a, const View& view, Shared<width>& shared) {
    const int lane = static_cast<int>(threadIdx.x) % 32, kv_head = static_cast<int>(blockIdx.x);
    const auto page_of_lane = [&](int n) {
        // Pages outside of what the rows see may belong to another sequence by now.
        const int page = min(max(n * block_pages + lane % block_pages, view.low / kv_page_tokens),
                             view.high / kv_page_tokens);
        return page_index(a, shared.piece.sequence, page, kv_head);
    };
    Turn keys_turn, values_turn;
    const auto copy_keys = [&](int n, std::int64_t page) {
        shared.keys_read[keys_turn.stage].wait(keys_turn.parity ^ 1);
        copy_stage<width>(a.cache.keys, view, n, page, shared.keys[keys_turn.stage]);
        shared.keys_there[keys_turn.stage].arrive_after_copies();
        keys_turn.advance();
    };
    std::int64_t page = page_of_lane(view.end - 1);
    copy_keys(view.end - 1, page);
    for (int n = view.end - 1; n >= view.begin; --n) {
        const std::int64_t next = page_of_lane(n - 1);
        if (n > view.begin) copy_keys(n - 1, next);
        shared.values_read[values_turn.stage].wait(values_turn.parity ^ 1);
        copy_stage<width>(a.cache.values, view, n, page, shared.values[values_turn.stage]);
        shared.values_there[values_turn.stage].arrive_after_copies();
        values_turn.advance();
        page = next;
    }
}

// Grid: (KV heads, pieces, spans).
template <int width>
__global__ void __launch_bounds__(block_threads, 1)
    attend_prompts(const __grid_constant__ AttentionArgs a, const __grid_constant__ Spans spans) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& shared = *reinterpret_cast<Shared<width>*>(memory);
    const int t = static_cast<int>(threadIdx.x);
    if (t < 32) {
        const Piece piece = find_piece<block_rows>(a, static_cast<int>(blockIdx.y), 2);
        if (t == 0) shared.piece = piece;
    }
    if (t == 32) {
        for (int s = 0; s < stages; ++s) {
            shared.keys_there[s].start(warpgroup_threads);
            shared.values_there[s].start(warpgroup_threads);
            shared.keys_read[s].start(4 * warpgroups);
            shared.values_read[s].start(4 * warpgroups);
        }
    }
    __syncthreads();
    const bool copies = uniform(t / warpgroup_threads) == warpgroups;
    const auto clear_rows = [&] {
        clear_empty_rows(a, t % warpgroup_threads, warpgroup_threads,
                         static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x),
                         static_cast<int>(gridDim.x * gridDim.y));
    };
    if (shared.piece.sequence < 0) {
        if (copies && blockIdx.z == 0) clear_rows();
        return;
    }
    const View view(a, shared.piece, spans);
    if (copies) {
        give_registers<40>();
        if (view.begin < view.end) copy_context<width>(a, view, shared);
        if (blockIdx.z == 0) clear_rows();
    } else {
        take_registers<232>();
        if (view.begin < view.end) Rows<width>(a, spans, view, shared).compute();
    }
}

// Divides the context if the pieces alone leave multiprocessors idle.
Spans choose_spans(const AttentionArgs& args, std::size_t scratch_bytes, int multiprocessors) {
    constexpr int least_tokens =
        4 * split_tokens;  // of a span; joining shorter ones costs more than it gains
    const int context = args.batch.max_context, group = args.heads / args.kv_heads;
    const int blocks = (args.batch.rows * group + block_rows - 1) / block_rows * args.kv_heads;
    const std::size_t span_bytes =
        static_cast<std::size_t>(args.batch.rows) * args.heads * part_floats(args.head_dim) * sizeof(float);
    const auto fit = static_cast<int>(min(scratch_bytes / span_bytes, std::size_t{1} << 16));
    const int wanted = min(min(multiprocessors / blocks, context / least_tokens), fit);
    if (wanted < 2) return {1, context};
    const int tokens = ((context + wanted - 1) / wanted + split_tokens - 1) / split_tokens * split_tokens;
    return {(context + tokens - 1) / tokens, tokens};
}

template <int width>
void start(const AttentionArgs& args, const Spans& spans, const Stream& stream) {
    static_assert(split_tokens % block_tokens == 0);
    cuda_check(cudaFuncSetAttribute(attend_prompts<width>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(sizeof(Shared<width>))),
               "shared memory of the attention");
    // Each sequence needs at most one more piece than its share of the rows.
    const int pieces = args.batch.rows * (args.heads / args.kv_heads) / block_rows + args.batch.sequences;
    launch("attention of prompts", attend_prompts<width>,
           {args.kv_heads, block_threads, sizeof(Shared<width>), pieces, spans.count}, stream, args, spans);
    if (spans.count > 1) launch_join_spans(args, spans, 0, args.batch.rows, stream);
}

}  // namespace

void launch_warpgroup_attention(const AttentionArgs& args, std::size_t scratch_bytes, int multiprocessors,
                                const Stream& stream) {
    const Spans spans = choose_spans(args, scratch_bytes, multiprocessors);
    if (args.head_dim == 64)
        start<64>(args, spans, stream);
    else
        start<128>(args, spans, stream);
}

}  // namespace voltpile::llm
