#include "device/row_copies.h"

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "device/device.h"
#include "device/stream.h"
#if VOLTPILE_CUDA
#include "device/check.h"
#endif

namespace voltpile {

#if VOLTPILE_CUDA

void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride, std::size_t bytes,
               std::size_t rows, const Stream& stream) {
    constexpr std::size_t most_stride = std::numeric_limits<std::int32_t>::max();  // cudaDevAttrMaxPitch
    if (to_stride > most_stride || from_stride > most_stride) {
        for (std::size_t row = 0; row < rows; ++row)
            cuda_check(cudaMemcpyAsync(static_cast<std::byte*>(to) + row * to_stride,
                                       static_cast<const std::byte*>(from) + row * from_stride, bytes,
                                       cudaMemcpyDefault, stream.get()),
                       "copying a row between the GPU and the host");
        return;
    }
    cuda_check(
        cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, rows, cudaMemcpyDefault, stream.get()),
        "copying rows between the GPU and the host");
}

#else

void copy_rows(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, const Stream&) {
    throw DeviceError(kNoCuda);
}

#endif

}  // namespace voltpile
