// The CPU kernel as compiled for each level of instruction sets (base/cpu_level.h).
#pragma once

#include "base/cpu_level.h"
#include "nbody/problem.h"
#include "sweep/point_stream.h"

namespace voltpile::nbody {

// Integrates points from the stream until it has none left, on the calling thread, one point per SIMD lane.
using CpuSweep = void (*)(const Problem& problem, PointStream& stream);

// Defined in cpu_kernel.cpp, which is compiled once for each level.
template <CpuLevel level>
CpuSweep compiled_cpu_sweep();
template <>
CpuSweep compiled_cpu_sweep<CpuLevel::Baseline>();
template <>
CpuSweep compiled_cpu_sweep<CpuLevel::Avx2>();
template <>
CpuSweep compiled_cpu_sweep<CpuLevel::Avx512>();

// The part of compiled_cpu_sweep for problems in double-double. Defined in cpu_double_double.cpp, which is
// compiled once for each level.
template <CpuLevel level>
void compiled_cpu_double_double(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_double_double<CpuLevel::Baseline>(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_double_double<CpuLevel::Avx2>(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_double_double<CpuLevel::Avx512>(const Problem& problem, PointStream& stream);

// The part of compiled_cpu_sweep for points with a deviation. Defined in cpu_deviation.cpp, which is
// compiled once for each level.
template <CpuLevel level>
void compiled_cpu_deviation(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_deviation<CpuLevel::Baseline>(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_deviation<CpuLevel::Avx2>(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_deviation<CpuLevel::Avx512>(const Problem& problem, PointStream& stream);

// The part of compiled_cpu_sweep for points with a twin. Defined in cpu_twin.cpp, which is
// compiled once for each level.
template <CpuLevel level>
void compiled_cpu_twin(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_twin<CpuLevel::Baseline>(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_twin<CpuLevel::Avx2>(const Problem& problem, PointStream& stream);
template <>
void compiled_cpu_twin<CpuLevel::Avx512>(const Problem& problem, PointStream& stream);

// level: one of usable_cpu_levels().
inline CpuSweep cpu_sweep(CpuLevel level) {
    return at_cpu_level(level, []<CpuLevel compiled>() { return compiled_cpu_sweep<compiled>(); });
}

}  // namespace voltpile::nbody
