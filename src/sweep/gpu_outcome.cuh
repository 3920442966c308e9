// How the GPU kernels of apps write the fields of points.
#pragma once

#include <algorithm>

#include "device/launch.cuh"
#include "sweep/gpu_range.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

// Of a kernel with a thread for each point; the last ones of the last block have none.
inline LaunchShape one_thread_each(const GpuRange& range) {
    LaunchShape shape;
    shape.threads = 128;
    shape.blocks = std::max(1, static_cast<int>((static_cast<std::int64_t>(range.points) + 127) / 128));
    return shape;
}

// Writes one field of a point, where it is requested. values: of GpuRange. point: its place in the range.
template <class T>
__device__ __forceinline__ void store(void* values, std::uint32_t point, const T& value) {
    if (values != nullptr) static_cast<T*>(values)[point] = value;
}
template <class T, int count>
__device__ __forceinline__ void store(void* values, std::uint32_t point, const T (&value)[count]) {
    if (values == nullptr) return;
    VOLTPILE_UNROLL
    for (int i = 0; i < count; ++i)
        static_cast<T*>(values)[count * static_cast<std::size_t>(point) + i] = value[i];
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile
