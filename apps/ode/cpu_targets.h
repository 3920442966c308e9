// The CPU kernel as compiled for each level of instruction sets (base/cpu_level.h).
#pragma once

#include <cstddef>

#include "base/cpu_level.h"
#include "ode/native_step.h"
#include "ode/problem.h"
#include "sweep/point_stream.h"

namespace voltpile::ode {

// Integrates points from the stream until it has none left, on the calling thread, kBlockLanes at a time.
// memory: workspace_numbers(problem, level), aligned to 64 bytes; all zeros.
using CpuSweep = void (*)(const Problem& problem, PointStream& stream, double* memory);

inline std::size_t workspace_numbers(const Problem& problem, CpuLevel level) {
    const int lanes = register_bits(level) / 64;
    return static_cast<std::size_t>(kBlockLanes / lanes * pack_stride(problem, lanes));
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

// Returns the function of an operation on a pack of lanes, null if the operation is an instruction.
template <CpuLevel level>
PackFunction compiled_function(Op op);
template <>
PackFunction compiled_function<CpuLevel::Baseline>(Op op);
template <>
PackFunction compiled_function<CpuLevel::Avx2>(Op op);
template <>
PackFunction compiled_function<CpuLevel::Avx512>(Op op);

enum class StepKind { MachineCode, Interpreted };

// Runs the kernel of a level, one of usable_cpu_levels(), with memory of its own. Steps are interpreted where
// there is no machine code for the level.
void sweep_on_this_thread(CpuLevel level, const Problem& problem, PointStream& stream,
                          StepKind kind = StepKind::MachineCode);

}  // namespace voltpile::ode
