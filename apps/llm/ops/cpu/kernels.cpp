#include "llm/ops/cpu/kernels.h"

namespace voltpile::llm {

std::vector<CpuKernels> usable_cpu_kernels() {
    std::vector<CpuKernels> usable;
#if defined(__x86_64__)
    // The builtins also check that the operating system saves the wide registers.
    const bool avx2 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx2 && avx512) usable.push_back(cpu_kernels_avx512());
    if (avx2) usable.push_back(cpu_kernels_avx2());
#endif
    usable.push_back(cpu_kernels_baseline());
    return usable;
}

}  // namespace voltpile::llm
