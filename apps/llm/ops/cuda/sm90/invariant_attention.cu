// launch_invariant_attention(): as in warpgroup_attention.cu, a block has 128 rows of one KV head, 64 for
// each of two warpgroups, and a third one copies keys and values; but a block has all of the context, from
// its beginning on.
#include "llm/ops/cuda/sm90/context_copy.cuh"
#include "llm/ops/cuda/sm90/invariant_rows.cuh"

namespace voltpile::llm {

namespace {

template <int width>
struct InvariantShared : Shared<width> {
    float joined[width / 2][computing_threads];  // sums over earlier spans, of each thread
};

// Grid: (KV heads, pieces).
template <int width>
__global__ void __launch_bounds__(block_threads, 1)
    attend_invariantly(const __grid_constant__ AttentionArgs a) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& shared = *reinterpret_cast<InvariantShared<width>*>(memory);
    const int t = static_cast<int>(threadIdx.x);
    if (t < 32) {
        const Piece piece = find_piece<block_rows>(a, static_cast<int>(blockIdx.y), 2);
        if (t == 0) shared.piece = piece;
    }
    if (t == 32) shared.start_barriers();
    clear_empty_rows(a, t, block_threads, static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x),
                     static_cast<int>(gridDim.x * gridDim.y));
    __syncthreads();
    if (shared.piece.sequence < 0) return;
    const View view(a, shared.piece, {1, a.batch.max_context});
    if (uniform(t / warpgroup_threads) == warpgroups) {
        give_registers<40>();
        copy_context<width, true>(a, view, shared);
    } else {
        take_registers<232>();
        InvariantRows<width>(a, view, shared).compute(&shared.joined[0][t]);
    }
}

template <int width>
void start(const AttentionArgs& args, const Stream& stream) {
    constexpr std::size_t bytes = sizeof(InvariantShared<width>);
    static_assert(bytes <= 227 * 1024);
    cuda_check(cudaFuncSetAttribute(attend_invariantly<width>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(bytes)),
               "shared memory of the attention");
    // Each sequence needs at most one more piece than its share of the rows.
    const int pieces = args.batch.rows * (args.heads / args.kv_heads) / block_rows + args.batch.sequences;
    launch("attention of prompts", attend_invariantly<width>, {args.kv_heads, block_threads, bytes, pieces},
           stream, args);
}

}  // namespace

void launch_invariant_attention(const AttentionArgs& args, const Stream& stream) {
    if (args.head_dim == 64)
        start<64>(args, stream);
    else
        start<128>(args, stream);
}

}  // namespace voltpile::llm
