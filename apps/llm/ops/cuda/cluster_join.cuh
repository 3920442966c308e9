// The join of attention's splits within a cluster of blocks (compute capability 9.0), which takes the place
// of a second kernel.
#pragma once

#include "llm/ops/cuda/decode_tiles.cuh"
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#include "llm/ops/cuda/sm90/cluster.cuh"
#endif

namespace voltpile::llm {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Reads a number that block `block` of the cluster has in the place of `number` in its shared memory.
__device__ __forceinline__ float read_in_cluster(const float& number, int block) {
    float value;
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %1, %2;\n"
        "ld.shared::cluster.f32 %0, [there];\n"
        "}"
        : "=f"(value)
        : "r"(shared_address(&number)), "r"(block)
        : "memory");
    return value;
}
#endif

// Joins the results of the blocks of a cluster, each with a split of the same heads, in the order of splits
// as join_parts() does, and writes them. tiles.score: the block's sums of values. All threads of the cluster
// call it, also those of blocks without work.
template <int width>
__device__ void join_in_cluster([[maybe_unused]] const AttentionArgs& a,
                                [[maybe_unused]] const DecodePlace& place,
                                [[maybe_unused]] const SplitTiles<width>& tiles) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    meet_cluster();
    const int first = first_position(a, place.position) / split_tokens;
    const int count = place.position / split_tokens + 1 - first;
    for (int i = (static_cast<int>(blockIdx.x) - first) * attention_threads + static_cast<int>(threadIdx.x);
         place.works && i < place.heads * width; i += count * attention_threads) {
        const int h = i / width, d = i % width;
        if (d >= a.head_dim) continue;
        constexpr int at_once = span_splits / 2;
        Joined joined;
        for (int begin = first; begin < first + count; begin += at_once) {
            SplitSum sums[at_once];
            float values[at_once];
#pragma unroll
            for (int s = 0; s < at_once; ++s) {
                const int block = min(begin + s, first + count - 1);
                sums[s] = {read_in_cluster(tiles.all[h].largest, block),
                           read_in_cluster(tiles.all[h].total, block)};
                values[s] = read_in_cluster(tiles.score[h][d], block);
            }
#pragma unroll
            for (int s = 0; s < at_once; ++s)
                if (begin + s < first + count) joined.add(sums[s], values[s]);
        }
        store_joined(a, place.row, place.first_head + h, d, joined);
    }
    meet_cluster();  // now nobody reads this block's shared memory any more
#endif
}

}  // namespace voltpile::llm
