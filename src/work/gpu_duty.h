// Which share of the time the GPUs of a host may compute, and when each begins. The power guard sets it; the
// apps keep to it on every rank of the host.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "comm/mpi/host_memory.h"

namespace voltpile {

class GpuDuty {
  public:
    // The GPUs rest at most this share of the time, so that work always goes on.
    static constexpr double most_rest = 0.95;

    // Collective: every rank of `world` calls. The GPUs of the host begin `ramp` apart; this rank's is number
    // `gpu` of `gpus`.
    GpuDuty(const Communicator& world, std::chrono::milliseconds ramp, int gpu, int gpus);
    // The same for a process alone.
    GpuDuty(std::chrono::milliseconds ramp, int gpu, int gpus);

    // Any thread of any rank of the host. Lasts until the next call.
    void set_rest(double share) noexcept;
    // The share of the time in which GPUs must rest: 0 to most_rest. Any thread; never waits.
    double rest() const noexcept;

    // How long after the work begins this rank's GPU begins, and how long until all of them compute.
    std::chrono::milliseconds begins_after() const { return gpu_ * ramp_; }
    std::chrono::milliseconds ramp_time() const { return gpus_ * ramp_; }
    bool leads_host() const { return !memory_ || memory_->leads(); }  // this rank is the first of its host

    // The share of the time in which GPUs that compute in step must rest `since` their work began: at first
    // all but one GPU's worth of power, then less until ramp_time(); at least rest().
    double rest_in_step(std::chrono::duration<double> since) const noexcept;

  private:
    std::optional<HostMemory> memory_;
    std::atomic<double> alone_{0};
    std::atomic<double>* rest_;  // in memory_, or alone_
    std::chrono::milliseconds ramp_;
    int gpu_, gpus_;
};

}  // namespace voltpile
