// Measures what one GPU can do: its memory and its arithmetic units. Only the build with CUDA measures;
// without it all functions throw DeviceError.
//
// All of them use the GPU `device`, which must be the calling thread's current one (use_device) and that of
// `stream`, and wait for the result. They throw DeviceError if the GPU fails or has no memory left.
#pragma once

#include <cstdint>

#include "device/stream.h"

namespace voltpile {

// Return bytes per second, the best of several rounds over `bytes` of memory: more than all caches hold. At
// most a quarter of the free memory is used. A copy counts what it reads and what it writes.
double gpu_read_rate(int device, std::int64_t bytes, const Stream& stream);
double gpu_copy_rate(int device, std::int64_t bytes, const Stream& stream);

// Return multiply-adds per second, the best of three rounds of about `seconds_each`. Clocks fall under load,
// so short rounds are faster than any sustained work.
double gpu_fp64_rate(int device, double seconds_each, const Stream& stream);
// Of products of fp16 matrices with fp32 sums on the tensor cores, by the instruction that all GPUs since
// Volta have. Hopper and newer reach their full rate only with instructions of their own, and about 60 % of
// it with this one. Requires compute capability 70.
double gpu_tensor_rate(int device, double seconds_each, const Stream& stream);

}  // namespace voltpile
