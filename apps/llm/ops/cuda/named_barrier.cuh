// Barriers among some threads of a block.
#pragma once

namespace voltpile::llm {

// Hardware barrier `id` (1 to 15) among `threads` threads of the block. arrive_at() does not wait.
__device__ __forceinline__ void meet_at(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void arrive_at(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace voltpile::llm
