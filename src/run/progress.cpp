#include "run/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/format.h"

namespace voltpile {
namespace {

constexpr double live_interval_s = 0.2;
constexpr double plain_interval_s = 10;
constexpr int bar_width = 20;

}  // namespace

ProgressMeter::ProgressMeter(std::string job, std::string unit)
    : job_(std::move(job)), unit_(std::move(unit)) {}

std::string ProgressMeter::line(const ProgressState& state) {
    samples_.push_back({state.elapsed_s, state.units});
    while (samples_.size() > 2 && samples_[1].elapsed_s <= state.elapsed_s - window_s) samples_.pop_front();
    const Sample& first = samples_.front();
    const double span = state.elapsed_s - first.elapsed_s;
    const double rate = span > 0 ? (state.units - first.units) / span
                                 : (state.elapsed_s > 0 ? state.units / state.elapsed_s : 0);

    const double done =
        state.points > 0 ? static_cast<double>(state.points_done) / static_cast<double>(state.points) : 1;
    const auto here = static_cast<double>(state.points_done - state.points_before);
    const std::string left =
        here > 0
            ? duration_text(state.elapsed_s * static_cast<double>(state.points - state.points_done) / here)
            : "?";
    const int filled = static_cast<int>(done * bar_width);
    return fmt::format("{} [{:.<{}}] {:5.1f} %  {:.3g} {}/s  elapsed {}  left {}  {} rank{}", job_,
                       std::string(static_cast<std::size_t>(filled), '#'), bar_width, 100 * done, rate, unit_,
                       duration_text(state.elapsed_s), left, state.ranks, state.ranks == 1 ? "" : "s");
}

ProgressDisplay::ProgressDisplay(ProgressMeter meter, bool terminal)
    : meter_(std::move(meter)), terminal_(terminal) {}

ProgressDisplay::~ProgressDisplay() {
    clear();
}

void ProgressDisplay::update(const ProgressState& state) {
    const double interval = terminal_ ? live_interval_s : plain_interval_s;
    if (state.elapsed_s - last_s_ < interval) return;
    last_s_ = state.elapsed_s;
    const std::string line = meter_.line(state);
    if (terminal_)
        fmt::print(stderr, "\r\033[K{}", line);
    else
        fmt::print(stderr, "{}\n", line);
    std::fflush(stderr);
    line_shown_ = terminal_;
}

void ProgressDisplay::clear() {
    if (!line_shown_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
    line_shown_ = false;
}

}  // namespace voltpile
