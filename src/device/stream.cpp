#include "device/stream.h"

#include "base/error.h"
#include "device/device.h"
#if VOLTPILE_CUDA
#include "device/capture.h"
#include "device/check.h"
#endif

namespace voltpile {

#if VOLTPILE_CUDA

Stream::Stream() {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
}
Stream::~Stream() {
    cudaStreamDestroy(stream_);
}

void Stream::synchronize() const {
    cuda_check(cudaStreamSynchronize(stream_), "waiting for a stream");
}

bool Stream::idle() const {
    const cudaError_t state = cudaStreamQuery(stream_);
    if (state == cudaErrorNotReady) {
        cudaGetLastError();
        return false;
    }
    cuda_check(state, "asking for a stream's state");
    return true;
}

Event::Event() {
    cuda_check(cudaEventCreate(&event_), "creating an event");
}
Event::~Event() {
    cudaEventDestroy(event_);
}

void Event::record(const Stream& stream) {
    cuda_check(cudaEventRecord(event_, stream.get()), "recording an event");
}

void Event::record_time(const Stream& stream) {
    cuda_check(cudaEventRecordWithFlags(event_, stream.get(),
                                        captures(stream) ? cudaEventRecordExternal : cudaEventRecordDefault),
               "recording an event");
}

void Event::synchronize() const {
    cuda_check(cudaEventSynchronize(event_), "waiting for an event");
}

double Event::seconds_since(const Event& start) const {
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading a time");
    return 1e-3 * static_cast<double>(milliseconds);
}

#else

Stream::Stream() {
    throw DeviceError(kNoCuda);
}
Stream::~Stream() = default;
void Stream::synchronize() const {
    throw DeviceError(kNoCuda);
}
bool Stream::idle() const {
    throw DeviceError(kNoCuda);
}
Event::Event() {
    throw DeviceError(kNoCuda);
}
Event::~Event() = default;
void Event::record(const Stream&) {
    throw DeviceError(kNoCuda);
}
void Event::record_time(const Stream&) {
    throw DeviceError(kNoCuda);
}
void Event::synchronize() const {
    throw DeviceError(kNoCuda);
}
double Event::seconds_since(const Event&) const {
    throw DeviceError(kNoCuda);
}

#endif

}  // namespace voltpile
