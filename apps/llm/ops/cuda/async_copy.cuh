// Asynchronous copies from global to shared memory (cp.async, sm_80 and newer). On older GPUs the functions
// below compile to nothing.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "device/capability.h"

namespace voltpile::llm {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
constexpr bool copies_run_alone = true;
#else
constexpr bool copies_run_alone = false;
#endif
// Returns whether the current GPU has asynchronous copies. Code that was compiled for an older architecture
// does not use them even there; it then needs at most the shared memory of code that does.
inline bool device_copies_alone() {
    return current_compute_capability() >= 80;
}

__device__ __forceinline__ std::uint32_t shared_address(const void* shared) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

// Starts a copy of 16 bytes; writes zeros if not `wanted`. Only if copies_run_alone.
__device__ inline void copy_alone(void* shared, const void* from, bool wanted) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(from), "r"(wanted ? 16 : 0)
                 : "memory");
}
// Waits for this thread's copies. Other threads see the data after a barrier.
__device__ inline void wait_for_copies() {
    if constexpr (copies_run_alone) asm volatile("cp.async.wait_all;" ::: "memory");
}
// Puts the thread's copies since the previous call into one group.
__device__ inline void end_of_copies() {
    if constexpr (copies_run_alone) asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits for all of the thread's groups except the last `later`.
template <int later>
__device__ inline void wait_for_earlier_copies() {
    if constexpr (copies_run_alone) asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
}

}  // namespace voltpile::llm
