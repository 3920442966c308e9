#include "machine/power_control.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace voltpile {
namespace {

// Aims a little below the budget: readings scatter by a percent or two.
constexpr double kAim = 0.97;
// After a second above the aim the next one aims lower by this many times the excess, at most to half.
constexpr double kPayback = 2, kLowestAim = 0.5;
// Resting less comes in steps, because supplies suffer from fast rises; resting more comes at once.
constexpr double kLargestRise = 0.1;
// The work may change: after this time the controller believes that it draws less than before.
constexpr double kForgetAfter_s = 2;
// GPUs without work say little about the work that comes next.
constexpr double kForgetIdleAfter_s = 30;
constexpr double kIdle = 1.3;  // times the least power seen
// The least power seen may have been that of GPUs with work.
constexpr double kBaseOfLeast = 0.8;
constexpr double kHistory_s = 4, kSecond = 1;

}  // namespace

PowerControl::PowerControl(double budget_w, double most_w, double most_rest)
    : budget_w_(budget_w),
      most_w_(most_w > 0 ? most_w : 4 * budget_w),
      most_rest_(most_rest),
      rest_(most_w_ > budget_w ? std::min(1 - budget_w / most_w_, most_rest) : 0) {}

double PowerControl::mean_rest(double from_s, double to_s) const {
    if (steps_.empty() || to_s <= from_s) return rest_;
    double sum = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const double begin = i == 0 ? from_s : std::max(steps_[i].time_s, from_s);
        const double end = i + 1 < steps_.size() ? std::min(steps_[i + 1].time_s, to_s) : to_s;
        if (end > begin) sum += (end - begin) * steps_[i].rest;
    }
    return sum / (to_s - from_s);
}

void PowerControl::learn(double time_s, double watts, double window_s) {
    const double least = kBaseOfLeast * watts;
    base_w_ = base_w_ < 0 ? least : std::min(base_w_, least);
    if (dynamic_w_ < 0) dynamic_w_ = std::max(most_w_ - base_w_, 1.0);
    const double works = 1 - mean_rest(time_s - window_s, time_s);
    const double now = (watts - base_w_) / std::max(works, 1 - most_rest_);
    if (now >= dynamic_w_) {
        dynamic_w_ = now;
    } else {
        const double passed = readings_.empty() ? 0 : time_s - readings_.back().time_s;
        const bool idle = watts < kIdle * base_w_ / kBaseOfLeast;
        dynamic_w_ +=
            (now - dynamic_w_) * (1 - std::exp(-passed / (idle ? kForgetIdleAfter_s : kForgetAfter_s)));
    }
}

double PowerControl::mean_w() const {
    if (readings_.empty()) return 0;
    return std::accumulate(readings_.begin(), readings_.end(), 0.0,
                           [](double sum, const Reading& each) { return sum + each.watts; }) /
           static_cast<double>(readings_.size());
}

double PowerControl::target_w() const {
    const double aim = kAim * budget_w_;
    return std::max(aim - kPayback * std::max(mean_w() - aim, 0.0), kLowestAim * budget_w_);
}

double PowerControl::update(double time_s, double watts, double window_s) {
    learn(time_s, watts, window_s);
    readings_.push_back({time_s, watts});
    while (readings_.front().time_s <= time_s - kSecond) readings_.pop_front();
    const double works =
        std::min((target_w() - base_w_) / std::max(dynamic_w_, 1.0), 1 - rest_ + kLargestRise);
    rest_ = std::clamp(1 - works, 0.0, most_rest_);
    steps_.push_back({time_s, rest_});
    while (steps_.size() > 1 && steps_[1].time_s < time_s - kHistory_s) steps_.pop_front();
    return rest_;
}

}  // namespace voltpile
