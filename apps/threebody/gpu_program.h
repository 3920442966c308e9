// A three-body job on the current GPU.
#pragma once

#include <memory>

#include "sweep/gpu_program.h"
#include "threebody/problem.h"

namespace voltpile::threebody {

// Copies the problem to the current GPU. Throws DeviceError.
std::unique_ptr<GpuProgram> make_gpu_program(const Problem& problem);

}  // namespace voltpile::threebody
