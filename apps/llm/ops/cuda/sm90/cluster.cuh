// Clusters of blocks of compute capability 9.0, which may receive the same data from bulk copies and read
// each other's shared memory (PTX ISA: barrier.cluster, mapa, .multicast::cluster).
#pragma once

#include "llm/ops/cuda/sm90/warpgroup.cuh"

namespace voltpile::llm {

__device__ __forceinline__ int block_in_cluster() {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Waits for all threads of the cluster, and shows them what the others wrote to shared memory before.
__device__ __forceinline__ void meet_cluster() {
    asm volatile(
        "barrier.cluster.arrive.release.aligned;\n"
        "barrier.cluster.wait.acquire.aligned;" ::
            : "memory");
}

// Copies contiguous global memory to the same place in all `blocks` first blocks of the cluster, and counts
// the bytes on the barrier `full` of each.
__device__ __forceinline__ void copy_to_cluster(void* shared, const void* from, int bytes, PhaseBarrier& full,
                                                int blocks) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(shared)),
        "l"(from), "r"(bytes), "r"(shared_address(&full)), "h"(static_cast<std::uint16_t>((1 << blocks) - 1))
        : "memory");
}

// Arrives at `barrier` of block `block` of the cluster, without a branch. Orders reads of this block's shared
// memory, and nothing that was written.
__device__ __forceinline__ void arrive_in_cluster_if(bool chosen, PhaseBarrier& barrier, int block) {
    asm volatile(
        "{\n"
        ".reg .pred chosen;\n"
        ".reg .b32 there;\n"
        "setp.ne.b32 chosen, %2, 0;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "@chosen mbarrier.arrive.shared::cluster.b64 _, [there];\n"
        "}" ::"r"(shared_address(&barrier)),
        "r"(block), "r"(static_cast<int>(chosen))
        : "memory");
}

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

}  // namespace voltpile::llm
