// Runs a rank's share of a three-body job on its GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/buffer.h"
#include "threebody/gpu_range_runner.h"
#include "threebody/outcome_fields.h"
#include "threebody/point_feed.h"
#include "threebody/problem.h"
#include "work/work_scheduler.h"

namespace voltpile::threebody {

// Keeps two ranges in flight, so that the last pairs of one run beside the first pairs of the next.
class GpuSweep {
  public:
    // Prepares everything that the first range needs: the GPU's context, the kernel and memory for ranges of
    // up to `points` points. gpu: index as in device_info(). problem must outlive the sweep. Throws
    // DeviceError.
    GpuSweep(const Problem& problem, const std::vector<OutcomeField>& fields, int gpu, std::int64_t points);

    // Returns when `work` has no more ranges and all taken ones are submitted. Runs on any thread. Throws
    // DeviceError.
    void run(WorkScheduler& work, const SubmitRange& submit);

  private:
    int gpu_;
    DeviceBuffer<Problem> on_gpu_;
    std::vector<std::unique_ptr<GpuRangeRunner>> runners_;
};

}  // namespace voltpile::threebody
