// The compute capability of the current GPU, asked without the rest of device_info(): kernels are launched by
// it.
#pragma once

#include <cuda_runtime_api.h>

#include "device/check.h"

namespace voltpile {

// Returns 10 * major + minor. Throws DeviceError.
inline int current_compute_capability() {
    int device = 0, major = 0, minor = 0;
    cuda_check(cudaGetDevice(&device), "asking for the GPU");
    cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
               "asking for the GPU");
    cuda_check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
               "asking for the GPU");
    return 10 * major + minor;
}

}  // namespace voltpile
