// What the CPU can do at best: a loop of nothing but fused multiply-adds (multiplies and adds where there are
// none).
#pragma once

#include "threebody/cpu_targets.h"

namespace voltpile::threebody {

// FP64 instructions/s times lanes, on this thread: the best of several runs.
double fma_peak(const CpuTarget& target);

// `rounds` times 12 independent operations on packs. Returns something that depends on all of them.
double fma_rounds_baseline(long rounds);
double fma_rounds_avx2(long rounds);
double fma_rounds_avx512(long rounds);

}  // namespace voltpile::threebody
