// Launches a kernel and reports at once if the launch fails.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "device/check.h"
#include "device/stream.h"

namespace voltpile {

struct LaunchShape {
    int blocks = 1;
    int threads = 32;  // per block
    std::size_t shared_bytes = 0;
    int blocks_y = 1;
    int blocks_z = 1;
};

// name: for the message. Throws DeviceError if the launch fails. A failure of the kernel itself appears
// later, at the next synchronization.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, const Stream& stream,
            Arguments&&... arguments) {
    const dim3 blocks(static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.blocks_y),
                      static_cast<unsigned>(shape.blocks_z));
    kernel<<<blocks, shape.threads, shape.shared_bytes, stream.get()>>>(arguments...);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) throw_device_error(error, name);
}

}  // namespace voltpile
