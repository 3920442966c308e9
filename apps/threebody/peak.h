// Measures the CPU's peak: a loop of nothing but fused multiply-adds (or multiplies and adds, without FMA).
#pragma once

#include "threebody/cpu_targets.h"

namespace voltpile::threebody {

// Returns FP64 instructions/s times lanes on this thread: the best of several runs.
double fma_peak(const CpuTarget& target);

// Executes `rounds` times 12 independent operations on packs. Returns a value that depends on all of them.
double fma_rounds_baseline(long rounds);
double fma_rounds_avx2(long rounds);
double fma_rounds_avx512(long rounds);

}  // namespace voltpile::threebody
