// Properties of the current GPU, asked without the rest of device_info(): kernels are launched by them.
#pragma once

#include <cuda_runtime_api.h>

#include "device/check.h"

namespace voltpile {

// Throws DeviceError.
inline int current_attribute(cudaDeviceAttr attribute) {
    int device = 0, value = 0;
    cuda_check(cudaGetDevice(&device), "asking for the GPU");
    cuda_check(cudaDeviceGetAttribute(&value, attribute, device), "asking for the GPU");
    return value;
}

// Returns 10 * major + minor. Throws DeviceError.
inline int current_compute_capability() {
    return 10 * current_attribute(cudaDevAttrComputeCapabilityMajor) +
           current_attribute(cudaDevAttrComputeCapabilityMinor);
}

}  // namespace voltpile
