// Whether a stream's work is being captured into a CUDA graph.
#pragma once

#include <cuda_runtime_api.h>

#include "device/check.h"
#include "device/stream.h"

namespace voltpile {

// Throws DeviceError.
inline bool captures(const Stream& stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cuda_check(cudaStreamIsCapturing(stream.get(), &status), "asking whether a stream captures");
    return status != cudaStreamCaptureStatusNone;
}

}  // namespace voltpile
