#include "comm/collective/watch.h"

#if VOLTPILE_CUDA
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
    const std::lock_guard lock(mutex_);
    CUevent_st* event = nullptr;
    cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
    open_.push_back({event, std::chrono::steady_clock::now()});
    cuda_check(cudaEventRecord(event, stream.get()), "recording an event");
}

bool CollectiveWatch::late() {
    const std::lock_guard lock(mutex_);
    const AllowedWhileCapturing allowed;
    while (!open_.empty()) {
        const cudaError_t state = cudaEventQuery(open_.front().event);
        if (state == cudaErrorNotReady) {
            cudaGetLastError();
            break;
        }
        cudaEventDestroy(open_.front().event);
        open_.pop_front();
        cuda_check(state, "asking whether collectives are done");
    }
    const auto now = std::chrono::steady_clock::now();
    return !open_.empty() && now - open_.front().since > std::chrono::duration<double>(deadline_s_);
}

#else

CollectiveWatch::~CollectiveWatch() = default;
void CollectiveWatch::watch(const Stream&) {}
bool CollectiveWatch::late() {
    return false;
}

#endif

}  // namespace voltpile
