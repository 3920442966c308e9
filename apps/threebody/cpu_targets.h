// The CPU kernel as compiled for each level of instruction sets (base/cpu_level.h).
#pragma once

#include "base/cpu_level.h"
#include "sweep/point_stream.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

struct CpuTarget {
    CpuLevel level;
    // Integrates pairs from the stream until it has none left, on the calling thread, one pair per SIMD lane.
    void (*sweep)(const Problem& problem, PointStream& stream);
    // Executes `rounds` times 12 independent fused multiply-adds on registers, and returns a value that
    // depends on all of them. Without FMA: multiplies and adds.
    double (*fma_rounds)(long rounds);
};

// Defined in cpu_kernel.cpp, which is compiled once for each level.
template <CpuLevel level>
CpuTarget compiled_cpu_target();
template <>
CpuTarget compiled_cpu_target<CpuLevel::Baseline>();
template <>
CpuTarget compiled_cpu_target<CpuLevel::Avx2>();
template <>
CpuTarget compiled_cpu_target<CpuLevel::Avx512>();

// The part of CpuTarget::sweep for problems in double-double, with a method that computes in it. Defined in
// cpu_double_double.cpp, which is compiled once for each level.
template <CpuLevel level>
void compiled_cpu_double_double(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_double_double<CpuLevel::Baseline>(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_double_double<CpuLevel::Avx2>(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_double_double<CpuLevel::Avx512>(const Problem& problem, PointStream& stream);

// level: one of usable_cpu_levels().
inline CpuTarget cpu_target(CpuLevel level) {
    return at_cpu_level(level, []<CpuLevel compiled>() { return compiled_cpu_target<compiled>(); });
}

}  // namespace voltpile::threebody
