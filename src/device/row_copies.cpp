#include "device/row_copies.h"

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
