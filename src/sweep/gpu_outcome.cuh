// How the GPU kernels of apps write the fields of points.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sweep/portable.h"

namespace voltpile {
inline namespace VOLTPILE_TARGET {

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
