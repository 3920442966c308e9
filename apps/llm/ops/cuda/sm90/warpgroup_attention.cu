// Attention of prompts on compute capability 9.0. Two warpgroups compute 64 rows each; a third copies keys
// and values into stages of shared memory. While a warpgroup computes the softmax of one stage, the tensor
// cores multiply the values of the stage before, and the other warpgroup's products.
#include "llm/ops/cuda/sm90/attention_rows.cuh"
#include "llm/ops/cuda/sm90/context_copy.cuh"

namespace voltpile::llm {

namespace {

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
    if (t == 32) shared.start_barriers();
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
        if (view.begin < view.end) copy_context<width, false>(a, view, shared);
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
