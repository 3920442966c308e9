#include "device/stream_order.h"

#include "base/error.h"
#include "device/device.h"
#if VOLTPILE_CUDA
#include "device/check.h"
#endif

namespace voltpile {

#if VOLTPILE_CUDA

StreamOrder::StreamOrder() {
    cuda_check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event");
}
StreamOrder::~StreamOrder() {
    cudaEventDestroy(event_);
}

void StreamOrder::put(const Stream& first, const Stream& second) {
    cuda_check(cudaEventRecord(event_, first.get()), "recording an event");
    cuda_check(cudaStreamWaitEvent(second.get(), event_, 0), "making a stream wait for another");
}

#else

StreamOrder::StreamOrder() {
    throw DeviceError(kNoCuda);
}
StreamOrder::~StreamOrder() = default;
void StreamOrder::put(const Stream&, const Stream&) {
    throw DeviceError(kNoCuda);
}

#endif

}  // namespace voltpile
