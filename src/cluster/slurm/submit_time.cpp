#include "cluster/slurm/submit_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/format.h"
#include "cluster/slurm/text.h"

namespace voltpile {
namespace {

// The margin of an estimate; a larger error costs a requeue.
constexpr double margin = 1.5;
// Time to start programs, MPI and devices, on a slow file system too.
constexpr double start_up_s = 60;
constexpr double shortest_start_up_s = 5;
// Slurm checks time limits every 30 s and signals a job that would be late at the next check.
constexpr double slurm_period_s = 30;
constexpr double earliest_signal_s = 60;  // before the lead, according to its manual
constexpr double slurm_margin_s = 15;  // for the signal's way to the ranks, and for the end of the launcher

// Rounds up to a time that a person would give.
double rounded_up(double seconds) {
    const double step = seconds <= 3600 ? 60 : seconds <= 36000 ? 600 : 3600;
    return std::ceil(seconds / step) * step;
}

double least_lead(const TimeNeeds& needs) {
    return 2 * needs.range_s + 10;
}

// Current ranges must end and be committed. The lead takes at most a quarter of a short limit.
double signal_lead(const TimeNeeds& needs, double limit_s) {
    const double generous = 60 + 4 * needs.range_s;
    return std::ceil(std::max(least_lead(needs), std::min(generous, limit_s / 4)));
}

double wanted_limit(const TimeNeeds& needs) {
    const double work = needs.estimate_s * margin + start_up_s;
    // The lead depends on the limit and the limit on the lead; the lead never grows beyond this.
    return rounded_up(work + earliest_signal_s + 60 + 4 * needs.range_s);
}

// The signal must leave a service all of the time that it may take to stop.
TimePlan plan_service(const TimeNeeds& needs) {
    TimePlan plan;
    plan.limit_s = needs.asked_s.value_or(needs.max_time_s);
    plan.signal_lead_s = std::ceil(needs.stop_s.value() + slurm_margin_s);
    const double least = shortest_start_up_s + slurm_period_s + plan.signal_lead_s;
    if (plan.limit_s < least)
        throw MachineError(fmt::format(
            "a time limit of {} is too short: the service needs up to {} to start and {} to stop, and "
            "Slurm's signal may come {} early; give --time={} or more, or shorten its time to stop",
            slurm_time_text(plan.limit_s), duration_text(shortest_start_up_s),
            duration_text(plan.signal_lead_s), duration_text(slurm_period_s),
            slurm_time_text(rounded_up(least))));
    return plan;
}

}  // namespace

TimePlan plan_time(const TimeNeeds& needs) {
    if (needs.asked_s && *needs.asked_s > needs.max_time_s)
        throw MachineError(fmt::format("--time: {} is more than the partition allows: {}",
                                       slurm_time_text(*needs.asked_s), slurm_time_text(needs.max_time_s)));
    if (needs.stop_s) return plan_service(needs);
    TimePlan plan;
    plan.limit_s = needs.asked_s ? *needs.asked_s : std::min(wanted_limit(needs), needs.max_time_s);
    plan.signal_lead_s = signal_lead(needs, std::isinf(plan.limit_s) ? wanted_limit(needs) : plan.limit_s);
    const double least = shortest_start_up_s + needs.range_s + slurm_period_s + plan.signal_lead_s;
    if (plan.limit_s < least)
        throw MachineError(
            fmt::format("a time limit of {} is too short: one range takes up to {} and Slurm's signal comes "
                        "up to {} before "
                        "the limit; give --time={} or more, or make ranges shorter (run.range_seconds)",
                        slurm_time_text(plan.limit_s), duration_text(needs.range_s),
                        duration_text(plan.signal_lead_s + slurm_period_s),
                        slurm_time_text(rounded_up(least + least / 3))));
    const double useful = plan.limit_s - plan.signal_lead_s - slurm_period_s - shortest_start_up_s;
    plan.lives = std::max(1.0, std::ceil(needs.estimate_s / std::max(useful, needs.range_s)));
    return plan;
}

}  // namespace voltpile
