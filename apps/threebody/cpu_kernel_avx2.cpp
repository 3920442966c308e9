// The kernel for AVX2 with fused multiply-add (Haswell, Zen and newer). Nothing else belongs in this file:
// see portable.h.
#define VOLTPILE_TARGET avx2
#define VOLTPILE_PACK_BYTES 32
#include "threebody/cpu_kernel.h"
#include "threebody/cpu_targets.h"
#include "threebody/fma_loop.h"
#include "threebody/peak.h"

namespace voltpile::threebody {

void sweep_avx2(const Problem& problem, PointStream& stream) {
    sweep(problem, stream);
}

double fma_rounds_avx2(long rounds) {
    return fma_loop(rounds);
}

}  // namespace voltpile::threebody
