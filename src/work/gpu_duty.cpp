#include "work/gpu_duty.h"

#include <algorithm>
#include <utility>

namespace voltpile {

static_assert(std::atomic<double>::is_always_lock_free);  // required in memory that processes share

GpuDuty::GpuDuty(const Communicator& world, std::chrono::milliseconds ramp, int gpu, int gpus)
    : memory_(std::in_place, world, "voltpile-gpu-duty", sizeof(std::atomic<double>)),
      rest_(static_cast<std::atomic<double>*>(memory_->get())),
      ramp_(ramp),
      gpu_(gpu),
      gpus_(std::max(gpus, 1)) {}

GpuDuty::GpuDuty(std::chrono::milliseconds ramp, int gpu, int gpus)
    : rest_(&alone_), ramp_(ramp), gpu_(gpu), gpus_(std::max(gpus, 1)) {}

void GpuDuty::set_rest(double share) noexcept {
    *rest_ = std::clamp(share, 0.0, most_rest);
}

double GpuDuty::rest() const noexcept {
    return *rest_;
}

double GpuDuty::rest_in_step(std::chrono::duration<double> since) const noexcept {
    const std::chrono::duration<double> whole = ramp_time();
    if (since >= whole) return rest();
    const double least = 1.0 / gpus_;
    const double computes = least + (1 - least) * (since / whole);
    return std::min(std::max(rest(), 1 - computes), most_rest);
}

}  // namespace voltpile
