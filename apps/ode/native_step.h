// The program of a step as machine code of the processor, with the bits of the interpreter.
#pragma once

#include <optional>

#include "base/cpu_level.h"
#include "ode/executable_memory.h"
#include "ode/problem.h"

namespace voltpile::ode {

// Functions of expressions on a pack of numbers: to = f(a, b). Null for operations that are instructions.
using PackFunction = void (*)(double* to, const double* a, const double* b);
using PackFunctions = PackFunction (*)(Op op);

class NativeStep {
  public:
    NativeStep() = default;
    // Throws std::logic_error if the level has no machine code (has_machine_code()).
    NativeStep(const Problem& problem, CpuLevel level, PackFunctions pack_functions);

    // Null where the system forbids programs to make code (hardened Linux): then there is the interpreter.
    StepCode code() const;

  private:
    ExecutableMemory memory_;
};

// x86-64 with AVX2 and FMA, or AVX-512.
bool has_machine_code(CpuLevel level);

}  // namespace voltpile::ode
