// The kernel. Compiled once for each level of instruction sets (voltpile_cpu_kernels). Nothing else belongs
// in this file: see base/simd.h.
#include "ode/block.h"
#include "ode/cpu_targets.h"

namespace voltpile::ode {
namespace {

void sweep(const Problem& problem, PointStream& stream, double* memory) {
    Block block(problem, stream, memory);
    block.sweep();
}

}  // namespace

template <>
CpuSweep compiled_cpu_sweep<simd_level>() {
    return sweep;
}

}  // namespace voltpile::ode
