// Latent attention of prompts on compute capability 9.0. Two warpgroups compute 64 rows together; a third
// copies tiles of latent vectors into stages of shared memory. Each of the two computes the scores of half of
// a tile's tokens, hands the weights to the other one, and sums half of the columns of the values.
#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/sm90/latent_prompt_rows.cuh"

namespace voltpile::llm {

namespace {

// What the warpgroup that copies does.
__device__ void copy_tiles(const AttentionArgs& a, const Piece& piece, const LatentView& view,
                           LatentPromptShared& shared) {
    constexpr int each = latent_page_pieces / warpgroup_threads;  // pieces of a page and thread
    static_assert(latent_page_pieces % warpgroup_threads == 0);
    const int t = static_cast<int>(threadIdx.x) % warpgroup_threads, lane = t % 32;
    const auto page_of_lane = [&](int begin) {
        const int page = min(begin / kv_page_tokens + lane % latent_block_pages, view.last / kv_page_tokens);
        return page_index(a, piece.sequence, page, 0);
    };
    // Where the thread's pieces of a page go, from the page's first row in a tile.
    int place[each];
#pragma unroll
    for (int n = 0; n < each; ++n) {
        const int i = t + n * warpgroup_threads;
        place[n] = static_cast<int>(
            piece_of<latent_key, latent_block_tokens>(shared.tiles[0], i / latent_pieces, i % latent_pieces) -
            &shared.tiles[0][0][0][0]);
    }
    Turn turn;
    std::int64_t page = page_of_lane(view.first);
    for (int begin = view.first; begin <= view.last; begin += latent_block_tokens) {
        const std::int64_t next = page_of_lane(begin + latent_block_tokens);
        shared.read[turn.stage].wait(turn.parity ^ 1);
        __half* const tile = &shared.tiles[turn.stage][0][0][0];
#pragma unroll
        for (int p = 0; p < latent_block_pages; ++p) {
            const int first = p * kv_page_tokens, seen = (view.last + 1 - begin - first) * latent_pieces;
            const __half* const from = static_cast<const __half*>(a.cache.keys) + t * 8 +
                                       __shfl_sync(0xffffffffu, page, p) * (kv_page_tokens * latent_key);
#pragma unroll
            for (int n = 0; n < each; ++n)
                copy_alone(tile + place[n] + first * 64, from + n * (warpgroup_threads * 8),
                           t + n * warpgroup_threads < seen);
        }
        shared.there[turn.stage].arrive_after_copies();
        turn.advance();
        page = next;
    }
}

// Grid: (pieces, parts of their contexts).
__global__ void __launch_bounds__(block_threads, 1)
    attend_latent_prompts(const __grid_constant__ AttentionArgs a,
                          const __grid_constant__ LatentShare share) {
    extern __shared__ __align__(1024) unsigned char prompt_memory[];
    auto& shared = *reinterpret_cast<LatentPromptShared*>(prompt_memory);
    let_next_kernel_begin();
    const int t = static_cast<int>(threadIdx.x);
    if (t == 0) {
        for (int s = 0; s < stages; ++s) {
            shared.there[s].start(warpgroup_threads);
            shared.read[s].start(4 * warpgroups);
        }
    }
    __syncthreads();
    const Piece piece = latent_piece<latent_block_rows>(a, share);
    const LatentView view(a, piece, latent_block_rows, share.parts);
    const bool works = piece.sequence >= 0 && view.first <= view.last;
    wait_for_earlier_kernels();
    if (uniform(t / warpgroup_threads) == warpgroups) {
        give_registers<72>();
        if (works) copy_tiles(a, piece, view, shared);
        if (share.clears && blockIdx.y == 0)
            clear_empty_rows(a, t % warpgroup_threads, warpgroup_threads, static_cast<int>(blockIdx.x),
                             static_cast<int>(gridDim.x));
    } else {
        take_registers<216>();
        if (works) LatentPromptRows(a, share, piece, view, shared).compute();
    }
}

}  // namespace

LatentKernel latent_prompt_kernel() {
    return {attend_latent_prompts, latent_block_rows, block_threads,
            static_cast<int>(sizeof(LatentPromptShared)), false};
}

}  // namespace voltpile::llm
