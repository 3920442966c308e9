// Hands out the points of several ranges to many threads. When a range has no points left, threads continue
// with the next one, so no thread idles while the last points of a range finish. The thread that finishes a
// range's last point submits the range.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sweep/outcome_field.h"
#include "sweep/point_stream.h"
#include "work/refined_level.h"
#include "work/work_scheduler.h"

namespace voltpile {

using SubmitRange = std::function<void(WorkRange, std::vector<FieldBuffer>)>;

// Thread-safe.
class PointFeed {
  public:
    // fields: must outlive the feed. submit: called from the threads that call finish(), which rethrows its
    // exceptions.
    PointFeed(WorkScheduler& work, const std::vector<OutcomeField>& fields, SubmitRange submit);

    // Hands out as many points as `tickets` has places for, all of one range, or what is left of it. Returns
    // their number, 0 if there is no point now. Never waits.
    std::size_t draw(std::span<Ticket> tickets);

    // Waits until there is a point. Returns false if there will never be one.
    bool wait();

    void finish(const Ticket& ticket, const void* outcome);

    // Hands out no more points, because another thread has failed.
    void stop() { stopped_ = true; }
    bool stopped() const { return stopped_; }

  private:
    struct RangeInFlight {
        RangeInFlight(WorkRange r, const RefinedLevel* level, const std::vector<OutcomeField>& fields);
        bool has_points() const { return next < count; }
        Ticket draw();
        std::int64_t place_of(std::int64_t point) const;  // in the range

        WorkRange range;
        bool all;                                  // of its points are computed
        std::vector<RefinedLevel::Chosen> chosen;  // else these
        std::int64_t count;
        std::int64_t next = 0;  // of them
        std::atomic<std::int64_t> unfinished;
        OutcomeBuffers buffers;
    };

    RangeInFlight* with_points() const;  // null if all points are handed out; mutex_ held
    // Returns null for a range without points to compute, which is submitted. mutex_ is not held.
    std::unique_ptr<RangeInFlight> started(WorkRange range);

    WorkScheduler& work_;
    const std::vector<OutcomeField>& fields_;
    SubmitRange submit_;
    std::mutex waiting_;  // one thread at a time waits for the scheduler
    std::mutex mutex_;
    std::vector<std::unique_ptr<RangeInFlight>> in_flight_;
    std::atomic<bool> stopped_ = false;
};

}  // namespace voltpile
