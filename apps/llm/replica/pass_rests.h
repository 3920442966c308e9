// Lets a rank's GPU rest between passes as long as the power guard asks for. The rests are in the stream, so
// passes that were enqueued ahead wait too. Ranks that share a model rest at the same time, because they end
// their passes together.
#pragma once

#include <chrono>
#include <memory>

#include "device/stream.h"
#include "work/gpu_duty.h"

namespace voltpile::llm {

// How long to rest, by the times of the passes. Pure: no clock of its own.
class RestTimes {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using Duration = std::chrono::duration<double>;

    explicit RestTimes(const GpuDuty& duty) : duty_(duty) {}

    // Returns how long to rest before a pass that could begin now: what the last pass has cost, less the time
    // in which there was no work anyway.
    Duration before_pass(Time now);
    void begins(Time now) { began_ = now; }
    void ends(Time now) { ended_ = now; }

  private:
    const GpuDuty& duty_;
    Time work_since_{}, began_{}, ended_{};
};

class PassRests {
  public:
    // duty and stream must outlive all work on the stream.
    PassRests(const GpuDuty& duty, const Stream& stream);

    // Enqueue the rest before a pass, and the note that it has ended. Throw DeviceError.
    void before_pass();
    void after_pass();

  private:
    const Stream& stream_;
    std::shared_ptr<RestTimes> times_;  // of the driver's thread, in the order of the stream
};

}  // namespace voltpile::llm
