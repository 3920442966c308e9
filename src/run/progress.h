// The progress of a job on stderr: one live line on a terminal, a plain line now and then elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "work/gauge.h"

namespace voltpile {

struct ProgressState {
    std::int64_t points_done = 0;    // in total, earlier runs included
    std::int64_t points_before = 0;  // done by earlier runs
    std::int64_t points = 0;
    double units = 0;  // work done in this run
    double elapsed_s = 0;
    int ranks = 1;
    std::vector<Gauge> gauges;  // added by the app
};

// Computes the rate over the last seconds and formats the line. Pure: the time comes in with the state.
class ProgressMeter {
  public:
    // bar_width: 0 for no bar where space is short.
    ProgressMeter(std::string job, std::string unit, int bar_width = 20);

    // Returns "seed_map [#########...........]  45.3 %  1.37e+08 pair-steps/s  elapsed 12 s  left 15 s  2
    // ranks", followed by the gauges: "  in 1.2e+03 tok/s  batch 37".
    std::string line(const ProgressState& state);

  private:
    struct Sample {
        double elapsed_s;
        double units;
        std::vector<Gauge> gauges;
    };
    std::string gauges_text(const ProgressState& state) const;
    static constexpr double window_s = 5;

    std::string job_;
    std::string unit_;
    int bar_width_;
    std::deque<Sample> samples_;
};

// Shows lines on stderr at the right intervals.
class LiveLine {
  public:
    // columns: of the terminal, which the live line must fit; 0 for plain lines.
    explicit LiveLine(int columns) : columns_(columns) {}
    ~LiveLine() { clear(); }
    LiveLine(const LiveLine&) = delete;
    LiveLine& operator=(const LiveLine&) = delete;

    bool due(double elapsed_s);  // true when the next line is due, which then counts as shown
    void show(const std::string& line);
    void clear();  // clears the live line before something else is printed

  private:
    int columns_;
    double last_s_ = 0;
    bool line_shown_ = false;
};

// The progress line of a job.
class ProgressDisplay {
  public:
    // columns: as for LiveLine.
    ProgressDisplay(ProgressMeter meter, int columns) : meter_(std::move(meter)), line_(columns) {}

    void update(const ProgressState& state) {
        if (line_.due(state.elapsed_s)) line_.show(meter_.line(state));
    }
    void clear() { line_.clear(); }

  private:
    ProgressMeter meter_;
    LiveLine line_;
};

}  // namespace voltpile
