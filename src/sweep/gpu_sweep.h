// Runs a rank's share of a sweep on its GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sweep/gpu_range_runner.h"
#include "sweep/outcome_field.h"
#include "sweep/point_feed.h"
#include "work/gpu_duty.h"
#include "work/work_scheduler.h"

namespace voltpile {

// Keeps two ranges in flight, so that the last points of one run beside the first points of the next.
class GpuSweep {
  public:
    // Prepares everything that the first range needs: the GPU's context, the kernel and memory for ranges of
    // up to `points` points. make_program: called with the GPU current. gpu: index as in device_info(). duty:
    // when the GPU begins and how much it rests; nullptr: at once and never. fields and duty must outlive the
    // sweep. Throws DeviceError.
    GpuSweep(const std::function<std::unique_ptr<GpuProgram>()>& make_program,
             const std::vector<OutcomeField>& fields, int gpu, std::int64_t points, const GpuDuty* duty);
    ~GpuSweep();

    // Returns when `work` has no more ranges and all taken ones are submitted. Runs on any thread. Throws
    // DeviceError.
    void run(WorkScheduler& work, const SubmitRange& submit);

  private:
    class Rest;

    int gpu_;
    std::unique_ptr<Rest> rest_;  // null without a duty
    std::unique_ptr<GpuProgram> program_;
    std::vector<std::unique_ptr<GpuRangeRunner>> runners_;
};

}  // namespace voltpile
