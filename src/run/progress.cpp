#include "run/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/standard_streams.h"

namespace voltpile {
namespace {

constexpr double live_interval_s = 0.2;
constexpr double plain_interval_s = 10;

}  // namespace

ProgressMeter::ProgressMeter(std::string job, std::string unit, int bar_width)
    : job_(std::move(job)), unit_(std::move(unit)), bar_width_(bar_width) {}

std::string ProgressMeter::line(const ProgressState& state) {
    samples_.push_back({state.elapsed_s, state.units, state.gauges});
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
    const auto filled = static_cast<std::size_t>(done * bar_width_);
    const std::string bar =
        bar_width_ > 0 ? fmt::format(" [{:.<{}}]", std::string(filled, '#'), bar_width_) : "";
    return fmt::format("{}{} {:5.1f} %  {:.3g} {}/s  elapsed {}  left {}  {} rank{}{}", job_, bar, 100 * done,
                       rate, unit_, duration_text(state.elapsed_s), left, state.ranks,
                       state.ranks == 1 ? "" : "s", gauges_text(state));
}

// The oldest sample may be from before an app reported a gauge, which then started at 0.
std::string ProgressMeter::gauges_text(const ProgressState& state) const {
    const Sample& first = samples_.front();
    const double span = state.elapsed_s - first.elapsed_s;
    std::string text;
    for (const Gauge& gauge : state.gauges) {
        double value = gauge.value;
        if (gauge.kind == Gauge::Kind::Rate) {
            const auto before = std::ranges::find(first.gauges, gauge.name, &Gauge::name);
            value -= before == first.gauges.end() ? 0 : before->value;
            value = span > 0 ? value / span : 0;
        }
        const bool counts =
            gauge.kind != Gauge::Kind::Rate && value == std::floor(value) && std::abs(value) < 1e9;
        text += fmt::format("  {} {}{}{}", gauge.name,
                            counts ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value),
                            gauge.unit.empty() ? "" : " ", gauge.unit);
    }
    return text;
}

bool LiveLine::due(double elapsed_s) {
    if (elapsed_s - last_s_ < (columns_ > 0 ? live_interval_s : plain_interval_s)) return false;
    last_s_ = elapsed_s;
    return true;
}

void LiveLine::show(const std::string& line) {
    if (columns_ > 0)  // a line that wraps cannot be overwritten
        print_stderr("\r\033[K" + line.substr(0, static_cast<std::size_t>(columns_ - 1)));
    else
        print_error(line);
    line_shown_ = columns_ > 0;
}

void LiveLine::clear() {
    if (!line_shown_) return;
    print_stderr("\r\033[K");
    line_shown_ = false;
}

}  // namespace voltpile
