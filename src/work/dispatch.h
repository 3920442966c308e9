// Handing out ranges: the messages between each rank and rank 0, and both ends' state. No MPI and no clock in
// here, so that the protocol can be tested in one process; run/runner moves the messages on each rank's main
// thread.
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

// Rank -> rank 0.
struct RankReport {
    int wanted = 0;               // ranges it asks for, beyond those asked for before
    bool stop_requested = false;  // a signal asked this rank to stop
    bool finished = false;        // its app has ended and all it computed is committed; the last report
    RankProgress progress;
    std::vector<WorkRange> committed;  // since the last report
    std::vector<Gauge> gauges;

    std::string to_bytes() const;
    static RankReport from_bytes(const std::string& bytes);
};

// Rank 0 -> rank.
struct RankGrant {
    enum class Kind : int {
        Range,
        Close,
        Stop
    };  // Close: no more will come. Stop: drop also what is queued.
    Kind kind = Kind::Range;
    WorkRange range;

    std::string to_bytes() const;
    static RankGrant from_bytes(const std::string& bytes);
};

// Each rank's end.
class DispatchClient {
  public:
    // Keeps `depth` ranges queued in `work` ahead of the app, so that it never waits for an answer.
    DispatchClient(WorkScheduler& work, int depth) : work_(work), depth_(depth) {}

    // What to tell rank 0 now, if anything: a wish, news of commits, or a sign of life after `quiet_s`
    // seconds.
    std::optional<RankReport> report(double now_s, bool stop_requested, bool finished);
    void receive(const RankGrant& grant);

  private:
    static constexpr double quiet_s = 0.25;

    WorkScheduler& work_;
    int depth_;
    int outstanding_ = 0;  // ranges asked for and not yet received
    double last_report_s_ = -1e9;
    bool stop_told_ = false;
    bool finish_told_ = false;
};

// Rank 0's end.
class DispatchServer {
  public:
    // completed: what earlier runs have committed. points_per_s: the plan's estimate for each rank; 0 for
    // those that take no ranges.
    DispatchServer(WorkRange whole, const RangeSet& completed, std::vector<double> points_per_s,
                   RangeLimits limits);

    void receive(int rank, const RankReport& report, double now_s);

    // No more ranges from now on; every rank is told.
    void stop();
    bool stopping() const { return stopping_; }

    // What to send, since the last call: (rank, grant).
    std::vector<std::pair<int, RankGrant>> take_replies();

    bool all_finished() const;  // every rank has sent its last report
    bool complete() const { return completed_.contains(whole_); }
    const RangeSet& completed() const { return completed_; }
    const std::vector<RankProgress>& progress() const { return progress_; }
    const std::vector<std::vector<Gauge>>& gauges() const { return gauges_; }  // by rank

  private:
    WorkRange whole_;
    RangeSet completed_;
    RangePolicy policy_;
    std::vector<RankProgress> progress_;
    std::vector<std::vector<Gauge>> gauges_;
    std::vector<double> first_grant_s_;  // negative: none yet
    std::vector<bool> finished_;
    std::vector<std::pair<int, RankGrant>> replies_;
    bool stopping_ = false;
};

}  // namespace voltpile
