// Computes one range at a time on the GPU, with a stream and memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/buffer.h"
#include "device/stream.h"
#include "sweep/gpu_program.h"
#include "sweep/outcome_field.h"
#include "work/refined_level.h"
#include "work/work_range.h"

namespace voltpile {

class GpuRangeRunner {
  public:
    // program, fields and rest_ns (GpuRange::rest_ns) must outlive the runner. multiprocessors: of the
    // current GPU.
    GpuRangeRunner(const GpuProgram& program, const std::vector<OutcomeField>& fields, int multiprocessors,
                   const std::uint32_t* rest_ns);

    // Allocates memory for ranges of up to `points` points, within bounds, and loads the kernel. Optional:
    // the first range is done sooner.
    void prepare(std::int64_t points);

    // Enqueues the range, or its first part: long ranges run in parts, so that GPU memory is bounded. level:
    // as in WorkScheduler. Returns false, and the range is finished, if it has no point to compute.
    bool start(WorkRange range, const RefinedLevel* level);

    bool busy() const { return !range_.empty(); }

    // Checks whether the GPU is done and enqueues the next part. True: the range is finished; take() it.
    bool advance();

    // Returns the finished range's buffers, one for each field. The runner is free again.
    std::vector<FieldBuffer> take();

    WorkRange range() const { return range_; }

    // Returns the units of work of points that were decided since the last call.
    double take_units();

    // Returns whether take_units() and advance() have seen the GPU come further since the last call.
    bool take_moved() { return std::exchange(moved_, false); }

  private:
    void reserve(std::size_t points);
    std::int64_t count() const { return all_ ? range_.size() : std::ssize(chosen_); }
    GpuRange gpu_range(WorkRange part);
    void start_part();
    void collect_part();

    const GpuProgram& program_;
    const std::vector<OutcomeField>& fields_;
    int multiprocessors_;
    const std::uint32_t* rest_ns_;

    WorkRange range_;
    bool all_ = true;                           // of its points are computed
    std::vector<RefinedLevel::Chosen> chosen_;  // else these
    WorkRange part_;                            // of count()
    std::vector<FieldBuffer> results_;

    DeviceBuffer<GpuRange::Counters> counters_;
    PinnedBuffer<GpuRange::Counters> counters_seen_;
    std::size_t capacity_ = 0;                     // points
    std::vector<DeviceBuffer<std::byte>> values_;  // of each field
    DeviceBuffer<std::byte> raw_;
    PinnedBuffer<std::byte> staging_;
    DeviceBuffer<std::int64_t> numbers_;  // of the points of the part
    PinnedBuffer<std::int64_t> numbers_here_;
    double units_taken_ = 0;  // of the part
    double units_ = 0;        // of earlier parts, not yet taken
    GpuRange::Counters last_seen_{};
    bool moved_ = false;

    // Last, so that they are destroyed first.
    Stream stream_;
    Stream watch_;  // reads the counters while the kernel runs
};

}  // namespace voltpile
