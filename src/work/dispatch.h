// Hands out ranges: the messages between each rank and rank 0, and the state of both ends. This file uses
// neither MPI nor a clock, so one process can test the protocol; run/job_loop moves the messages on each
// rank's main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "work/range_policy.h"
#include "work/range_set.h"
#include "work/work_scheduler.h"

namespace voltpile {

// The most memory that was in use when a rank's app had ended; 0: not measured.
struct RankMemory {
    std::int64_t host_bytes = 0;  // of its process
    std::int64_t gpu_bytes = 0;   // of its GPU, by all processes
};

// The message from a rank to rank 0.
struct RankReport {
    int wanted = 0;               // additional ranges it requests
    bool stop_requested = false;  // a signal asked this rank to stop
    bool finished = false;        // its app has returned and all its results are committed; the last report
    RankProgress progress;
    std::vector<WorkRange> committed;  // since the last report
    std::vector<Gauge> gauges;
    RankMemory memory;  // of the last report

    std::string to_bytes() const;
    static RankReport from_bytes(const std::string& bytes);
};

// The message from rank 0 to a rank.
struct RankGrant {
    enum class Kind : int {
        Range,
        Close,
        Stop
    };  // Close: no more ranges follow. Stop: also drop the queued ones.
    Kind kind = Kind::Range;
    WorkRange range;

    std::string to_bytes() const;
    static RankGrant from_bytes(const std::string& bytes);
};

// The end on each rank.
class DispatchClient {
  public:
    // Keeps `depth` ranges queued in `work` ahead of the app, so that it never waits for an answer.
    DispatchClient(WorkScheduler& work, int depth) : work_(work), depth_(depth) {}

    // Returns the report to send to rank 0 now, if any: requested ranges, commits, or a sign of life after
    // `quiet_s` seconds.
    std::optional<RankReport> report(double now_s, bool stop_requested, bool finished);
    void receive(const RankGrant& grant);
    void note_memory(RankMemory memory) { memory_ = memory; }  // for the reports from now on

  private:
    static constexpr double quiet_s = 0.25;

    WorkScheduler& work_;
    int depth_;
    int outstanding_ = 0;  // ranges requested and not yet received
    double last_report_s_ = -1e9;
    bool stop_told_ = false;
    bool finish_told_ = false;
    RankMemory memory_;
};

// The end on rank 0.
class DispatchServer {
  public:
    // completed: points that earlier runs have committed. points_per_s: the plan's estimate for each rank; 0
    // for ranks that take no ranges.
    DispatchServer(WorkRange whole, const RangeSet& completed, std::vector<double> points_per_s,
                   RangeLimits limits);

    void receive(int rank, const RankReport& report, double now_s);

    // Hands out no more ranges and notifies every rank.
    void stop();
    bool stopping() const { return stopping_; }

    // Returns the messages to send since the last call: (rank, grant).
    std::vector<std::pair<int, RankGrant>> take_replies();

    // The rank, or every rank, has sent its last report.
    bool finished(int rank) const { return finished_[static_cast<std::size_t>(rank)]; }
    bool all_finished() const;
    bool complete() const { return completed_.contains(whole_); }
    const RangeSet& completed() const { return completed_; }
    const std::vector<RankProgress>& progress() const { return progress_; }
    const std::vector<RankMemory>& memory() const { return memory_; }          // by rank
    const std::vector<std::vector<Gauge>>& gauges() const { return gauges_; }  // by rank

  private:
    WorkRange whole_;
    RangeSet completed_;
    RangePolicy policy_;
    std::vector<RankProgress> progress_;
    std::vector<std::vector<Gauge>> gauges_;
    std::vector<RankMemory> memory_;
    std::vector<double> first_grant_s_;  // negative: none yet
    std::vector<bool> finished_;
    std::vector<std::pair<int, RankGrant>> replies_;
    bool stopping_ = false;
};

}  // namespace voltpile
