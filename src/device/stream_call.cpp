#include "device/stream_call.h"

#include <memory>
#include <utility>

#include "base/error.h"
#include "device/device.h"
#if VOLTPILE_CUDA
#include "device/check.h"
#endif

namespace voltpile {

#if VOLTPILE_CUDA

void enqueue_call(const Stream& stream, std::function<void()> function) {
    using Function = std::function<void()>;
    auto kept = std::make_unique<Function>(std::move(function));
    const cudaHostFn_t call = [](void* it) { (*std::unique_ptr<Function>(static_cast<Function*>(it)))(); };
    cuda_check(cudaLaunchHostFunc(stream.get(), call, kept.get()), "enqueueing a call");
    static_cast<void>(kept.release());  // the call frees it
}

#else

void enqueue_call(const Stream&, std::function<void()>) {
    throw DeviceError(kNoCuda);
}

#endif

}  // namespace voltpile
