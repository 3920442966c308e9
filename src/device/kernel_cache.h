// Keeps compiled kernels from one run to the next.
#pragma once

#include <filesystem>

#include "device/nvrtc.h"

namespace voltpile {

// How many kernels a folder keeps, about; the oldest are removed.
inline constexpr std::size_t kMostKernels = 1000;

// Returns the compiled kernel: from `folder`, where an earlier call has left it, else by Nvrtc::compile, and
// then leaves it there. A kernel is found by its source, headers, capability and NVRTC's version. Processes
// may share the folder. A folder or file that cannot be used is ignored; so is an empty `folder`. Throws as
// Nvrtc::compile.
CompiledKernel compile_once(const Nvrtc& compiler, const KernelSource& source, int capability,
                            const std::filesystem::path& folder);

// Returns the folder of kernels among what the user's programs keep (base/cache_folder.h); empty if there is
// none.
std::filesystem::path kernel_cache_folder();

}  // namespace voltpile
