// The kernel for AVX-512F (Skylake-SP, Zen 4 and newer). Nothing else belongs in this file: see portable.h.
#define VOLTPILE_TARGET avx512
#define VOLTPILE_PACK_BYTES 64
#include "threebody/cpu_kernel.h"
#include "threebody/cpu_targets.h"
#include "threebody/fma_loop.h"
#include "threebody/peak.h"

namespace voltpile::threebody {

void sweep_avx512(const Problem& problem, PointStream& stream) {
    sweep(problem, stream);
}

double fma_rounds_avx512(long rounds) {
    return fma_loop(rounds);
}

}  // namespace voltpile::threebody
