// Compiled once for each level of instruction sets (voltpile_cpu_kernels). Nothing else belongs in this file:
// see base/simd.h.
#include "threebody/cpu_kernel.h"

#include "threebody/cpu_targets.h"

namespace voltpile::threebody {
namespace {

double fma_loop(long rounds) {
    using Real = Simd<double>;
    constexpr int chains =
        12;  // more than latency times operations per cycle, and few enough for 16 registers
    Real value[chains];
    _Pragma("GCC unroll 12") for (int i = 0; i < chains; ++i) value[i] = Real(1.0 + i);
    const Real factor(0.999999);
    const Real term(1e-6);
    for (long round = 0; round < rounds; ++round) {
        _Pragma("GCC unroll 12") for (int i = 0; i < chains; ++i) value[i] = fma(value[i], factor, term);
    }
    double sum = 0;
    for (int i = 0; i < chains; ++i) sum += value[i].lane(0);
    return sum;
}

}  // namespace

template <>
CpuTarget compiled_cpu_target<simd_level>() {
    return {simd_level, sweep, fma_loop};
}

}  // namespace voltpile::threebody
