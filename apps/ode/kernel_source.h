// The source of a job's GPU kernel.
#pragma once

#include <span>
#include <string>

#include "device/nvrtc.h"
#include "ode/problem.h"

namespace voltpile::ode {

struct KernelShape {
    int threads = 512;       // of a block; a multiprocessor runs one
    int steps_at_once = 16;  // of each point, before a warp looks for points that have ended
};

// Returns the shape for equations whose numbers fit into registers: the cheaper a step, the more at once.
KernelShape kernel_shape(const Problem& problem);

// Returns what NVRTC compiles. The headers belong to the program.
KernelSource kernel_source(const Problem& problem, const KernelShape& shape);

// The headers that kernels include, as they were when the program was built (kernel_headers.cmake).
std::span<const SourceHeader> kernel_headers();

}  // namespace voltpile::ode
