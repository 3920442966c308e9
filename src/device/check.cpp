#if VOLTPILE_CUDA

#include "device/check.h"

#include <fmt/format.h>

#include "base/error.h"

namespace voltpile {

void throw_device_error(cudaError_t error, const char* doing) {
    int device = -1;
    cudaGetDevice(&device);
    cudaGetLastError();
    throw DeviceError(fmt::format("GPU {}: {}: {} ({})", device, doing, cudaGetErrorString(error),
                                  cudaGetErrorName(error)));
}

}  // namespace voltpile

#endif
