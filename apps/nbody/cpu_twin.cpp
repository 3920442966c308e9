// The CPU kernel of points with a twin. Compiled once for each level of instruction sets
// (voltpile_cpu_kernels), apart from cpu_kernel.cpp, so that both compile in parallel. Nothing else belongs
// in this file: see base/simd.h.
#include "nbody/companion_sweep.h"
#include "nbody/cpu_targets.h"
#include "nbody/twin.h"

namespace voltpile::nbody {

template <>
void compiled_cpu_twin<simd_level>(const Problem& problem, PointStream& stream) {
    sweep_with_companion<Twin>(problem, stream);
}

}  // namespace voltpile::nbody
