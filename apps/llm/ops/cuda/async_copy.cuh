// Copies from global to shared memory that run while their thread goes on, where the hardware has them.
#pragma once

#include <cuda_fp16.h>

#include "device/check.h"

namespace voltpile::llm {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
constexpr bool copies_run_alone = true;
#else
constexpr bool copies_run_alone = false;
#endif
// Of the device's processors, not of the code: what was compiled for older ones runs on newer ones too, and
// then needs no more memory.
inline bool device_copies_alone() {
    int device = 0, major = 0;
    cuda_check(cudaGetDevice(&device), "asking for the GPU");
    cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
               "asking for the GPU");
    return major >= 8;
}

// 16 bytes, or zeros. Only where copies run alone, as all of the following, which do nothing elsewhere.
__device__ inline void copy_alone(__half* shared, const __half* from, bool wanted) {
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(from), "r"(wanted ? 16 : 0)
                 : "memory");
}
// Those of this thread; a barrier makes them seen by others.
__device__ inline void wait_for_copies() {
    if constexpr (copies_run_alone) asm volatile("cp.async.wait_all;" ::: "memory");
}
// Makes one group of the thread's copies since the group before.
__device__ inline void end_of_copies() {
    if constexpr (copies_run_alone) asm volatile("cp.async.commit_group;" ::: "memory");
}
// For all groups but the `later` last ones.
template <int later>
__device__ inline void wait_for_earlier_copies() {
    if constexpr (copies_run_alone) asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
}

}  // namespace voltpile::llm
