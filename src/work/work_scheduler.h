// A rank's queue of ranges between its app and the messages: the app takes ranges and reports progress.
// Thread-safe. The rank's main thread exchanges the messages with rank 0 (work/dispatch.h), so an app that
// computes does not delay other ranks.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "work/gauge.h"
#include "work/refined_level.h"
#include "work/work_range.h"

namespace voltpile {

// A rank's progress so far. The numbers only grow.
struct RankProgress {
    std::int64_t points = 0;  // committed
    double units = 0;         // of work, finished or in progress (for the rate); see Workload::unit
    double busy_s = 0;        // seconds during which the processor was computing
};

class WorkScheduler {
  public:
    // level: of a refined sweep, whose ranges are positions; it must outlive the scheduler. nullptr: ranges
    // are points.
    explicit WorkScheduler(const RefinedLevel* level = nullptr) : level_(level) {}

    // --- the app's side ---

    // Which points of its ranges are computed; nullptr: all, and ranges are points of the flattened sweep.
    const RefinedLevel* level() const { return level_; }

    // Returns the next range, after waiting for it if necessary; nothing if no more ranges follow or the job
    // is stopping.
    std::optional<WorkRange> next();

    // Returns the next range if one is queued. An app that overlaps ranges feeds idle lanes with try_next(),
    // and calls next() when it has nothing left in flight.
    std::optional<WorkRange> try_next();

    // True if no more ranges follow.
    bool exhausted() const;

    // Adds the work done since the last call, for the live rate. Call it often (every 0.1 to 1 s), from any
    // thread.
    void add_units(double units);

    // Adds the seconds during which this rank's processor was computing since the last call; with n threads,
    // each adds 1/n of its own.
    void add_busy(double seconds);

    // Sets what the progress line shows of this rank from now on.
    void set_gauges(std::vector<Gauge> gauges);

    // True if the job ends before all points are computed: the app may abandon unfinished ranges.
    bool stopping() const;

    // --- the spine's side ---

    void offer(WorkRange range);      // a range has come from rank 0
    void close();                     // no more ranges follow; queued ones are still handed out
    void stop();                      // like close(), and drops queued ones
    void committed(WorkRange range);  // the writer has committed it
    int queued() const;
    bool closed() const;
    RankProgress progress() const;
    std::vector<Gauge> gauges() const;
    std::vector<WorkRange> take_committed();  // since the last call

  private:
    std::optional<WorkRange> pop();  // with mutex_ held

    const RefinedLevel* const level_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<WorkRange> queue_;
    std::vector<WorkRange> committed_;
    bool closed_ = false;
    bool stopping_ = false;
    std::vector<Gauge> gauges_;
    RankProgress progress_;
};

}  // namespace voltpile
