// Computes one range at a time on the GPU, with a stream and memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/buffer.h"
#include "device/stream.h"
#include "threebody/gpu_kernel.h"
#include "threebody/outcome_fields.h"
#include "work/work_range.h"

namespace voltpile::threebody {

class GpuRangeRunner {
  public:
    // on_gpu: the problem in the current GPU's memory. Both problems must outlive the runner.
    GpuRangeRunner(const Problem& problem, const Problem* on_gpu, std::vector<OutcomeField> fields,
                   int multiprocessors);

    // Allocates memory for ranges of up to `points` points, within bounds, and loads the kernel. Optional:
    // the first range is done sooner.
    void prepare(std::int64_t points);

    // Enqueues the range, or its first part: long ranges run in parts, so that GPU memory is bounded.
    void start(WorkRange range);

    bool busy() const { return !range_.empty(); }

    // Checks whether the GPU is done and enqueues the next part. True: the range is finished; take() it.
    bool advance();

    // Returns the finished range's buffers, one for each field. The runner is free again.
    std::vector<FieldBuffer> take();

    WorkRange range() const { return range_; }

    // Returns the pair-steps of pairs that were decided since the last call.
    double take_pair_steps();

  private:
    void reserve(std::size_t points);
    GpuRange gpu_range(WorkRange part);
    void start_part();
    void collect_part();

    const Problem& problem_;
    const Problem* on_gpu_;
    std::vector<OutcomeField> fields_;
    int multiprocessors_;

    WorkRange range_;
    WorkRange part_;
    std::vector<FieldBuffer> results_;

    DeviceBuffer<GpuRange::Counters> counters_;
    PinnedBuffer<GpuRange::Counters> counters_seen_;
    std::size_t capacity_ = 0;  // points
    DeviceBuffer<std::int32_t> steps_together_;
    DeviceBuffer<double> energy_error_, closest_approach_, state_;
    PinnedBuffer<std::byte> staging_;
    double pair_steps_taken_ = 0;  // of the part
    double pair_steps_ = 0;        // of earlier parts, not yet taken

    // Last, so that they are destroyed first.
    Stream stream_;
    Stream watch_;  // reads the counters while the kernel runs
};

}  // namespace voltpile::threebody
