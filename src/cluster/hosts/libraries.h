// Which libraries of others this process has, or would load.
#pragma once

#include <vector>

#include "cluster/hosts/report.h"

namespace voltpile {

// Those that are there, with version and file: MPI, HDF5, UCX, NCCL, the CUDA and NVIDIA drivers.
std::vector<LibraryInUse> libraries_in_use();

}  // namespace voltpile
