// The CPU kernel as compiled for each level of instruction sets (base/cpu_level.h).
#pragma once

#include <cstddef>

#include "base/cpu_level.h"
#include "ode/problem.h"
#include "sweep/point_stream.h"

namespace voltpile::ode {

// Integrates points from the stream until it has none left, on the calling thread, kBlockLanes at a time.
// memory: workspace_numbers(problem), aligned to 64 bytes; all zeros.
using CpuSweep = void (*)(const Problem& problem, PointStream& stream, double* memory);

inline std::size_t workspace_numbers(const Problem& problem) {
    return static_cast<std::size_t>(problem.registers) * kBlockLanes;
}

// Defined in cpu_kernel.cpp, which is compiled once for each level.
template <CpuLevel level>
CpuSweep compiled_cpu_sweep();
template <>
CpuSweep compiled_cpu_sweep<CpuLevel::Baseline>();
template <>
CpuSweep compiled_cpu_sweep<CpuLevel::Avx2>();
template <>
CpuSweep compiled_cpu_sweep<CpuLevel::Avx512>();

// Runs the kernel of a level, one of usable_cpu_levels(), with memory of its own.
void sweep_on_this_thread(CpuLevel level, const Problem& problem, PointStream& stream);

}  // namespace voltpile::ode
