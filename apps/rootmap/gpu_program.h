// A root map's job on the current GPU.
#pragma once

#include <memory>
#include <span>

#include "rootmap/problem.h"
#include "sweep/gpu_program.h"

namespace voltpile::rootmap {

// Copies the problem to the current GPU. frames: all numbers that its sources point to. Throws DeviceError.
std::unique_ptr<GpuProgram> make_gpu_program(const Problem& problem, std::span<const double> frames);

}  // namespace voltpile::rootmap
