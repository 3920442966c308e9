#include "machine/clock_control.h"

#include <algorithm>

namespace voltpile {
namespace {

// Between two decisions: meters average over up to a second.
constexpr double kDecideEvery_s = 2;
constexpr double kWorthLowering = 0.02;  // rests; readings scatter
// GPUs without work may rest, too, until the controller of the rests knows what they draw.
constexpr double kFullPower = 0.85, kMuchLess = 0.9;  // of the budget
// Power falls with the square of the clock or faster, so half of the rests suffices.
constexpr double kOfTheRests = 0.5, kLargestFall = 0.8, kRise = 0.02;
// Below it GPUs lose more speed than power.
constexpr double kLowestShare = 0.4;

}  // namespace

double ClockControl::update(double time_s, double watts, double rest) {
    if (since_s_ < 0) since_s_ = time_s;
    watts_ += watts;
    rest_ += rest;
    ++readings_;
    if (time_s - since_s_ < kDecideEvery_s) return share_;
    const double mean_w = watts_ / readings_, mean_rest = rest_ / readings_;
    if (mean_rest > kWorthLowering && mean_w > kFullPower * budget_w_)
        share_ = std::max(share_ * std::max(1 - kOfTheRests * mean_rest, kLargestFall), kLowestShare);
    else if (mean_rest < kWorthLowering && mean_w < kMuchLess * budget_w_)
        share_ = std::min(share_ + kRise, 1.0);
    since_s_ = time_s;
    watts_ = rest_ = 0;
    readings_ = 0;
    return share_;
}

}  // namespace voltpile
