#include "plan/power_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace voltpile {
namespace {

// The most that a host draws; 0: unknown.
double peak_w(const Host& host, const PowerRequest& power) {
    double gpus = 0, saved = 0;
    for (const Gpu& gpu : host.gpus) {
        if (gpu.watts <= 0) return host.watts;
        const double limit = power.limit_w > 0 ? std::min(power.limit_w, gpu.watts) : gpu.watts;
        gpus += limit;
        saved += gpu.watts - limit;
    }
    if (host.watts > 0) return host.watts - saved;
    return gpus > 0 ? gpus + power.other_w : 0;
}

std::string settings_text(const PowerRequest& power) {
    std::vector<std::string> parts;
    if (power.limits_supply()) {
        parts.push_back(fmt::format("the GPUs of a node within {:.5g} W", power.gpu_budget_w()));
        if (power.other_w > 0)
            parts.back() += fmt::format(" ({:.5g} W less {:.5g} W)", power.supply_w, power.other_w);
    }
    if (power.lowers_clocks) parts.push_back("held by lower clocks");
    if (power.ramp_ms > 0) parts.push_back(fmt::format("begun {} ms apart", power.ramp_ms));
    if (power.limit_w > 0) parts.push_back(fmt::format("power limit {:.5g} W each", power.limit_w));
    if (power.sm_clock_mhz > 0) parts.push_back(fmt::format("clock at most {:.5g} MHz", power.sm_clock_mhz));
    return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

void add_power(Plan& plan, const PowerRequest& power) {
    if (const std::string text = settings_text(power); !text.empty()) plan.notes.push_back("power: " + text);
    if (!power.limits_supply()) return;
    std::set<double> said;  // equal hosts need one warning
    for (const Host& host : plan.topology.hosts) {
        const double peak = peak_w(host, power);
        if (peak <= power.supply_w || !said.insert(peak).second) continue;
        plan.warnings.push_back(fmt::format(
            "{} can draw {:.5g} W, more than power.supply_w = {:.5g}: its GPUs rest while they would",
            host.name, peak, power.supply_w));
    }
}

}  // namespace voltpile
