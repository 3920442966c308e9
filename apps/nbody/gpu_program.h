// An n-body job on the current GPU.
#pragma once

#include <memory>
#include <span>

#include "nbody/problem.h"
#include "sweep/gpu_program.h"

namespace voltpile::nbody {

// Copies the problem to the current GPU, with its table of starts. frames, table: all numbers that the
// problem points to. Throws DeviceError.
std::unique_ptr<GpuProgram> make_gpu_program(const Problem& problem, std::span<const double> frames,
                                             std::span<const double> table);

}  // namespace voltpile::nbody
