#include <memory>
#include <vector>

#include "ode/cpu_targets.h"

namespace voltpile::ode {

void sweep_on_this_thread(CpuLevel level, const Problem& problem, PointStream& stream, StepKind kind) {
    Problem own = problem;
    NativeStep step;
    if (kind == StepKind::MachineCode && has_machine_code(level)) {
        step = NativeStep(problem, level, at_cpu_level(level, []<CpuLevel compiled>() -> PackFunctions {
                              return compiled_function<compiled>;
                          }));
        own.step_code = step.code();
    }
    constexpr std::size_t alignment = 64;
    const std::size_t numbers = workspace_numbers(problem, level), bytes = numbers * sizeof(double);
    std::vector<double> memory(numbers + alignment / sizeof(double));
    std::size_t room = bytes + alignment;
    void* begin = memory.data();
    std::align(alignment, bytes, begin, room);
    const CpuSweep sweep =
        at_cpu_level(level, []<CpuLevel compiled>() { return compiled_cpu_sweep<compiled>(); });
    sweep(own, stream, static_cast<double*>(begin));
}

}  // namespace voltpile::ode
