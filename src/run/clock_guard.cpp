#include "run/clock_guard.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "machine/probe.h"

namespace voltpile {
namespace {

// Clocks follow a new limit within this time. Drivers round a limit to a clock that the GPU has.
constexpr double kClocksFollow_s = 3, kRoundedBy_mhz = 20;

}  // namespace

ClockGuard::ClockGuard(double budget_w, std::vector<GpuSettings> highest)
    : control_(budget_w),
      highest_(std::move(highest)),
      wanted_(highest_),
      clock_mhz_(*highest_.front().locked_clock_mhz),
      lowest_mhz_(clock_mhz_) {}

std::vector<GpuSettings> ClockGuard::at_share(double share) const {
    std::vector<GpuSettings> settings = highest_;
    for (GpuSettings& gpu : settings) gpu.locked_clock_mhz = std::round(*gpu.locked_clock_mhz * share);
    return settings;
}

void ClockGuard::look(const NodeSample& sample, double watts, double rest) {
    if (refused_) return;
    if (setting_.valid()) {
        if (setting_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
        take_outcome(sample.time_s);
        return;
    }
    read_back(sample);
    std::vector<GpuSettings> wanted = at_share(control_.update(sample.time_s, watts, rest));
    if (wanted == wanted_) return;
    wanted_ = std::move(wanted);
    setting_ = std::async(std::launch::async, [to = wanted_] { return change_gpus(to, kProbeDeadline); });
}

void ClockGuard::take_outcome(double time_s) {
    std::string problem;
    try {
        for (const SettingsOutcome& each : setting_.get()) {
            if (!each.problems.empty()) problem = each.problems.front();
            if (!each.not_permitted.empty()) problem = "no permission any more";
        }
    } catch (const Error& error) {
        problem = error.what();
    }
    if (!problem.empty()) {
        refused_ = true;
        spdlog::warn("power: the clocks of the GPUs of {} stay as they are: {}", host_name(), problem);
        return;
    }
    ++changes_;
    set_at_s_ = time_s;
    clock_mhz_ = *wanted_.front().locked_clock_mhz;
    lowest_mhz_ = std::min(lowest_mhz_, clock_mhz_);
}

void ClockGuard::read_back(const NodeSample& sample) {
    if (said_above_ || changes_ == 0 || sample.time_s < set_at_s_ + kClocksFollow_s) return;
    for (const GpuSettings& gpu : wanted_) {
        const GpuSnapshot* now = sample.gpus.find(gpu.bus_id);
        if (!now || now->sm_clock_mhz.value_or(0) <= *gpu.locked_clock_mhz + kRoundedBy_mhz) continue;
        said_above_ = true;
        spdlog::warn("power: GPU {} of {} runs at {:.0f} MHz although its clock may be at most {:.0f} MHz",
                     gpu.bus_id, host_name(), *now->sm_clock_mhz, *gpu.locked_clock_mhz);
        return;
    }
}

}  // namespace voltpile
