#include <memory>
#include <vector>

#include "ode/cpu_targets.h"

namespace voltpile::ode {

void sweep_on_this_thread(CpuLevel level, const Problem& problem, PointStream& stream) {
    constexpr std::size_t alignment = 64;
    std::size_t bytes = workspace_numbers(problem) * sizeof(double);
    std::vector<double> memory(workspace_numbers(problem) + alignment / sizeof(double));
    std::size_t room = bytes + alignment;
    void* begin = memory.data();
    std::align(alignment, bytes, begin, room);
    const CpuSweep sweep =
        at_cpu_level(level, []<CpuLevel compiled>() { return compiled_cpu_sweep<compiled>(); });
    sweep(problem, stream, static_cast<double*>(begin));
}

}  // namespace voltpile::ode
