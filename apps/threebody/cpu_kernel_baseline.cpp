// The kernel for any 64-bit processor (SSE2 on x86). Nothing else belongs in this file: see portable.h.
#define VOLTPILE_TARGET baseline
#define VOLTPILE_PACK_BYTES 16
#include "threebody/cpu_kernel.h"
#include "threebody/cpu_targets.h"
#include "threebody/fma_loop.h"
#include "threebody/peak.h"

namespace voltpile::threebody {

void sweep_baseline(const Problem& problem, PointStream& stream) {
    sweep(problem, stream);
}

double fma_rounds_baseline(long rounds) {
    return fma_loop(rounds);
}

}  // namespace voltpile::threebody
