#include "comm/collective/local.h"

#include <cstring>

#include "base/error.h"
#if VOLTPILE_CUDA
#include "device/check.h"
#endif

namespace voltpile {

void LocalCommunicator::check() {
    if (aborted_) throw CommError("the group was aborted");
}

void LocalCommunicator::copy(const void* in, void* out, std::int64_t count, ElementType type,
                             StreamRef stream) {
    check();
    if (count < 0) throw CommError("the count of a collective must be at least 0");
    if (in == out || count == 0) return;
    const auto bytes = static_cast<std::size_t>(count * size_of(type));
    if (stream.is_host()) {
        std::memcpy(out, in, bytes);
        return;
    }
#if VOLTPILE_CUDA
    cuda_check(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDefault, stream.stream().get()),
               "copying on the GPU");
#endif
}

void LocalCommunicator::nobody() {
    throw CommError("there is no other rank to send to");
}

}  // namespace voltpile
