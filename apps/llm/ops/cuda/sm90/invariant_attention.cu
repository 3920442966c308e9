// launch_invariant_attention(): as in warpgroup_attention.cu, a block has 128 rows of one KV head, 64 for
// each of two warpgroups, and a third one copies keys and values; but a block has all of the context, from
// its beginning on.
#include "base/error.h"
#include "llm/ops/cuda/sm90/context_copy.cuh"
#include "llm/ops/cuda/sm90/invariant_rows.cuh"

namespace voltpile::llm {

namespace {

constexpr int computing_threads = warpgroups * warpgroup_threads;

// Grid: (KV heads, pieces from first_piece on).
template <int width>
__global__ void __launch_bounds__(block_threads, 1)
    attend_invariantly(const __grid_constant__ AttentionArgs a, int first_piece) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& shared = *reinterpret_cast<Shared<width>*>(memory);
    const int t = static_cast<int>(threadIdx.x);
    const int block = static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x);
    if (t < 32) {
        const Piece piece = find_piece<block_rows>(a, first_piece + static_cast<int>(blockIdx.y), 2);
        if (t == 0) shared.piece = piece;
    }
    if (t == 32) shared.start_barriers();
    clear_empty_rows(a, t, block_threads, block, static_cast<int>(gridDim.x * gridDim.y));
    __syncthreads();
    if (shared.piece.sequence < 0) return;
    const View view(a, shared.piece, {1, a.batch.max_context});
    if (uniform(t / warpgroup_threads) == warpgroups) {
        give_registers<40>();
        copy_context<width, true>(a, view, shared);
    } else {
        take_registers<232>();
        float* const joined = a.scratch + static_cast<std::int64_t>(block) * block_rows * width + t;
        InvariantRows<width>(a, view, shared).compute(joined, computing_threads);
    }
}

template <int width>
void start(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream) {
    cuda_check(cudaFuncSetAttribute(attend_invariantly<width>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(sizeof(Shared<width>))),
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
               {args.kv_heads, block_threads, sizeof(Shared<width>), min(each, pieces - first)}, stream, args,
               first);
}

}  // namespace

void launch_invariant_attention(const AttentionArgs& args, std::size_t scratch_bytes, const Stream& stream) {
    if (args.head_dim == 64)
        start<64>(args, scratch_bytes, stream);
    else
        start<128>(args, scratch_bytes, stream);
}

}  // namespace voltpile::llm
