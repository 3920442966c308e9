// Measures copies between the memories of a node: host to GPU and back, and from GPU to GPU. All functions
// throw DeviceError if a GPU fails, and in a build without CUDA.
#pragma once

#include <cstddef>
#include <optional>

namespace voltpile {

// Bytes per second, the best of several copies one at a time.
struct HostCopyRates {
    double to_gpu = 0;
    double from_gpu = 0;
};

// Copies between the GPU and pinned host memory, which lies where the calling thread runs: bind it to a core
// near the GPU first. Makes the GPU the calling thread's current one.
HostCopyRates host_copy_rates(int device, std::size_t bytes);

// Returns the bytes per second of copies from one GPU's memory straight into another's; nothing if these two
// reach each other only through the host's memory. Makes `to` the calling thread's current GPU.
std::optional<double> peer_copy_rate(int from, int to, std::size_t bytes);

}  // namespace voltpile
