// How fast one core is estimated to be at a job's arithmetic.
#pragma once

#include "plan/topology.h"

namespace voltpile {

// Numbers processed a second by one core: vectors of the type, times lanes, as far as the kernels reach it
// (docs/benchmarks.md has what they were measured at).
double core_lanes_per_s(const Host& host, bool fp64);

// How many vectors of the host's width a core multiplies and adds in one clock. At 512 bits that depends on
// the model: Intel lists it as "number of AVX-512 FMA units", and AMD's Zen 4 takes two clocks for two
// halves.
int vector_units(const Host& host);

}  // namespace voltpile
