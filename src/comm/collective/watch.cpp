#include "comm/collective/watch.h"

#include <algorithm>

#if VOLTPILE_CUDA
#include "device/capture.h"
#include "device/check.h"
#endif

namespace voltpile {

#if VOLTPILE_CUDA

namespace {

// Querying events is forbidden while any thread captures a graph, unless the thread opts in.
class AllowedWhileCapturing {
  public:
    AllowedWhileCapturing() { cudaThreadExchangeStreamCaptureMode(&mode_); }
    ~AllowedWhileCapturing() { cudaThreadExchangeStreamCaptureMode(&mode_); }
    AllowedWhileCapturing(const AllowedWhileCapturing&) = delete;
    AllowedWhileCapturing& operator=(const AllowedWhileCapturing&) = delete;

  private:
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace

CollectiveWatch::~CollectiveWatch() {
    for (const Entry& entry : open_) cudaEventDestroy(entry.event);
}

void CollectiveWatch::watch(const Stream& stream) {
    if (captures(stream)) return;
    const std::lock_guard lock(mutex_);
    CUevent_st* event = nullptr;
    cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
    open_.push_back({event, std::chrono::steady_clock::now()});
    cuda_check(cudaEventRecord(event, stream.get()), "recording an event");
}

bool CollectiveWatch::late() {
    const std::lock_guard lock(mutex_);
    const AllowedWhileCapturing allowed;
    const auto now = std::chrono::steady_clock::now();
    while (!open_.empty()) {
        const cudaError_t state = cudaEventQuery(open_.front().event);
        if (state == cudaErrorNotReady) {
            cudaGetLastError();
            break;
        }
        cudaEventDestroy(open_.front().event);
        open_.pop_front();
        ++finished_;
        moved_ = now;
        cuda_check(state, "asking whether collectives are done");
    }
    return !open_.empty() &&
           now - std::max(open_.front().since, moved_) > std::chrono::duration<double>(deadline_s_);
}

#else

CollectiveWatch::~CollectiveWatch() = default;
void CollectiveWatch::watch(const Stream&) {}
bool CollectiveWatch::late() {
    return false;
}

#endif

WatchedWork CollectiveWatch::watched() const {
    const std::lock_guard lock(mutex_);
    return {finished_, !open_.empty()};
}

}  // namespace voltpile
