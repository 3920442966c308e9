#include "threebody/cpu_targets.h"

#include "threebody/peak.h"

namespace voltpile::threebody {

std::vector<CpuTarget> usable_cpu_targets() {
    std::vector<CpuTarget> targets;
#if defined(__x86_64__)
    // These checks include whether the operating system saves the wide registers.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma")) {
        targets.push_back({"avx512", 512, sweep_avx512, fma_rounds_avx512, true});
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        targets.push_back({"avx2", 256, sweep_avx2, fma_rounds_avx2, true});
    }
#endif
    targets.push_back({"baseline", 128, sweep_baseline, fma_rounds_baseline, false});
    return targets;
}

}  // namespace voltpile::threebody
