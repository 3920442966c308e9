// A rank's end of the scheduler, as its app sees it: takes ranges, reports progress. Thread-safe. The
// messages to rank 0 travel on the rank's main thread (work/dispatch.h), so an app deep in computing delays
// nobody.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "work/gauge.h"
#include "work/work_range.h"

namespace voltpile {

// What a rank has done so far; grows only.
struct RankProgress {
    std::int64_t points = 0;  // committed
    double units = 0;         // of work, finished or under way (for the rate); see Workload::unit
    double busy_s = 0;        // seconds in which the processor was computing
};

class WorkScheduler {
  public:
    // --- the app's side ---

    // The next range, waiting for it if need be; nothing once there is no more (or the job is stopping).
    std::optional<WorkRange> next();

    // The next range if one is at hand now. An app that overlaps ranges uses this to feed idle lanes, and
    // next() when it has nothing left in flight.
    std::optional<WorkRange> try_next();

    // No more ranges will come, now or later.
    bool exhausted() const;

    // Work done since the last call, for the live rate: call often (every 0.1 to 1 s), from any thread.
    void add_units(double units);

    // Seconds during which this rank's processor was computing since the last call; with n threads, 1/n of
    // each one's.
    void add_busy(double seconds);

    // What the progress line shall show of this rank, from now on.
    void set_gauges(std::vector<Gauge> gauges);

    // The job shall end before all is computed: what is under way may be left.
    bool stopping() const;

    // --- the spine's side ---

    void offer(WorkRange range);      // a range has come from rank 0
    void close();                     // no more will come; queued ones are still handed out
    void stop();                      // as close(), and queued ones are dropped
    void committed(WorkRange range);  // the writer has made it durable
    int queued() const;
    bool closed() const;
    RankProgress progress() const;
    std::vector<Gauge> gauges() const;
    std::vector<WorkRange> take_committed();  // since the last call

  private:
    std::optional<WorkRange> pop();  // with mutex_ held

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
