// The join of attention's splits within a cluster of blocks (compute capability 9.0), which takes the place
// of a second kernel.
#pragma once

#include "llm/ops/cuda/decode_tiles.cuh"
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#include "llm/ops/cuda/sm90/cluster.cuh"
#endif

namespace voltpile::llm {

// A cluster of more blocks takes as long as a second kernel (measured).
constexpr int most_joined_parts = 4;
static_assert(most_joined_parts <= span_splits);
// Kernels for quantized caches have no registers for it.
template <KvElement element>
constexpr bool joins_in_clusters = element == KvElement::F16;

// Joins the results of the blocks of a cluster, each with a split of the same heads, in the order of splits
// as join_parts() does, and writes them. tiles.result(): the block's sums of values. All threads of the
// cluster call it, also those of blocks without work.
template <int width>
__device__ void join_in_cluster([[maybe_unused]] const AttentionArgs& a,
                                [[maybe_unused]] const DecodePlace& place,
                                [[maybe_unused]] const SplitTiles<width>& tiles) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __syncwarp();
    meet_cluster();
    const int first = first_position(a, place.position) / split_tokens;
    const int count = place.position / split_tokens + 1 - first;
    for (int i = (static_cast<int>(blockIdx.x) - first) * attention_threads + static_cast<int>(threadIdx.x);
         place.works && i < place.heads * width; i += count * attention_threads) {
        const int h = i / width, d = i % width;
        if (d >= a.head_dim) continue;
        SplitSum sums[most_joined_parts];
        float values[most_joined_parts];
#pragma unroll
        for (int s = 0; s < most_joined_parts; ++s) {
            const int block = first + min(s, count - 1);
            sums[s] = {read_in_cluster(tiles.all[h].largest, block),
                       read_in_cluster(tiles.all[h].total, block)};
            values[s] = read_in_cluster(tiles.result(h, d), block);
        }
        JoinedColumn joined;
#pragma unroll
        for (int s = 0; s < most_joined_parts; ++s)
            if (s < count) joined.add(sums[s], values[s]);
        store_joined(a, place.row, place.first_head + h, d, joined);
    }
    __syncwarp();
    meet_cluster();  // now nobody reads this block's shared memory any more
#endif
}

}  // namespace voltpile::llm
