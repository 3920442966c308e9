// Turns CUDA's error codes into DeviceError. Include it only in sources that need CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include "base/fault.h"

namespace voltpile {

[[noreturn]] void throw_device_error(cudaError_t error, const char* doing);

// Throws DeviceError unless the call succeeded. doing: its purpose, as in "GPU 2: allocating 16 bytes: out of
// memory".
inline void cuda_check(cudaError_t error, const char* doing) {
    if (strike(FaultPlace::Gpu) == FaultEffect::LostGpu) error = cudaErrorUnknown;  // as after Xid 79
    if (error != cudaSuccess) throw_device_error(error, doing);
}

}  // namespace voltpile
