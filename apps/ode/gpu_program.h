// A job's equations on the current GPU.
#pragma once

#include <memory>

#include "ode/problem.h"
#include "sweep/gpu_program.h"

namespace voltpile::ode {

// Compiles the equations for the current GPU, or takes them from the user's cache. Throws MachineError if
// there is no compiler for it, DeviceError if the GPU fails.
std::unique_ptr<GpuProgram> make_gpu_program(const Problem& problem);

}  // namespace voltpile::ode
