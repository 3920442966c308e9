// Lists the instruction sets that the CPU kernel is compiled for and chooses among them.
#pragma once

#include <string_view>
#include <vector>

#include "threebody/point_stream.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

// Integrates pairs from the stream until it has none left, on the calling thread, one pair per SIMD lane.
using CpuSweep = void (*)(const Problem&, PointStream&);

void sweep_baseline(const Problem& problem, PointStream& stream);
void sweep_avx2(const Problem& problem, PointStream& stream);
void sweep_avx512(const Problem& problem, PointStream& stream);

struct CpuTarget {
    std::string_view name;  // "avx512"
    int bits;               // of a register
    CpuSweep sweep;
    double (*fma_rounds)(long rounds);  // for the benchmark: see peak.h
    bool fused;                         // has fused multiply-add: all such targets give the same bits
};

// Returns the targets that this processor and operating system can run, widest first; never empty.
std::vector<CpuTarget> usable_cpu_targets();

}  // namespace voltpile::threebody
