#include <cuda_fp16.h>

#include "device/launch.cuh"
#include "llm/ops/cuda/repack.h"
#include "llm/ops/cuda/with_format.h"

namespace voltpile::llm {

namespace {

__device__ __half to_half(float v) {
    return __float2half_rn(v);
}
__device__ __half to_half(__half v) {
    return v;
}
struct BrainFloat {
    std::uint16_t bits;
};
__device__ __half to_half(BrainFloat v) {
    return __float2half_rn(__uint_as_float(static_cast<std::uint32_t>(v.bits) << 16));
}

template <class T>
__global__ void repack_float(const T* values, Planes to, int columns) {
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (index >= static_cast<std::int64_t>(to.rows) * columns) return;
    const std::int64_t row = to.first_row + index / columns;
    reinterpret_cast<__half*>(to.quants)[row * to.columns + index % columns] = to_half(values[index]);
}

void repack_floats(WeightFormat format, const std::uint8_t* blocks, const Planes& to, int columns,
                   const Stream& stream) {
    const std::int64_t weights = static_cast<std::int64_t>(to.rows) * columns;
    const auto start = [&](auto kernel, const auto* values) {
        launch("repacking weights", kernel, {static_cast<int>((weights + 255) / 256), 256}, stream, values,
               to, columns);
    };
    if (format == WeightFormat::F32)
        start(repack_float<float>, reinterpret_cast<const float*>(blocks));
    else if (format == WeightFormat::BF16)
        start(repack_float<BrainFloat>, reinterpret_cast<const BrainFloat*>(blocks));
    else
        start(repack_float<__half>, reinterpret_cast<const __half*>(blocks));
}

}  // namespace

void repack_rows(const DeviceMatrix& matrix, WeightFormat format, const std::uint8_t* blocks, int first_row,
                 int rows, int columns, const Stream& stream) {
    const Planes to{const_cast<std::uint8_t*>(matrix.quants),
                    const_cast<std::uint8_t*>(matrix.high),
                    const_cast<std::uint8_t*>(matrix.scales),
                    const_cast<std::uint8_t*>(matrix.super),
                    matrix.columns,
                    first_row,
                    rows};
    with_format(format, [&](auto layout) {
        if constexpr (layout.value == WeightFormat::F16)
            repack_floats(format, blocks, to, columns, stream);
        else
            launch_repack_of<layout.value>(format, blocks, to, stream);
    });
}

}  // namespace voltpile::llm
