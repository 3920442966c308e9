// The outcome of a pair that an adaptive method has followed.
#pragma once

#include "threebody/adaptive_pair.h"
#include "threebody/outcome.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// Where the pair was when it was decided.
struct AdaptiveEnd {
    double x[6], v[6];              // of the first system, as in RelativeMotion
    double center;                  // as in ChainMotion, else 0
    double time, parted, attempts;  // as in AdaptivePair
    PathWatch<double> watch;        // undefined if nothing is watched
};

VOLTPILE_HD AdaptiveDemands demands_of(const Problem& problem) {
    return {problem.tolerance, problem.separation * problem.separation,
            static_cast<double>(problem.most_steps), watch_demands(problem)};
}

// Returns the number of whole steps dt in `time`, the last one rounded up or down, up to `steps`.
VOLTPILE_HD std::int32_t whole_steps(double time, const Parameters& p, bool up) {
    const std::int32_t steps = step_count(p);
    if (!(time < p.dt * static_cast<double>(steps))) return steps;
    const double ratio = time / p.dt;
    const auto whole = static_cast<std::int32_t>(ratio);
    return up && static_cast<double>(whole) < ratio ? whole + 1 : whole;
}

// Sets the fields that are demanded.
VOLTPILE_HD void set_watched(const PathWatch<double>& watch, const WatchDemands& demands, double time,
                             Outcome& outcome) {
    if (demands.encounters) {
        outcome.closest_approach = square_root(watch.closest.squared_distance);
        outcome.closest_time = watch.closest.time;
        outcome.closest_pair = static_cast<std::int32_t>(watch.closest.pair);
    }
    if (demands.escape) {
        outcome.escaper = static_cast<std::int32_t>(watch.escape.body);
        outcome.escape_time = outcome.escaper > 0 ? watch.escape.time : __builtin_nan("");
    }
    if (demands.deviation) {
        outcome.lyapunov_exponent = watch.deviation.growth / time;
        outcome.megno = watch.deviation.megno / time;
    }
}

VOLTPILE_HD void set_adaptive_outcome(const Parameters& p, AdaptiveEnd end, const AdaptiveDemands& demands,
                                      Outcome& outcome) {
    const double last = p.dt * static_cast<double>(step_count(p));
    // The ends of an interval shorter than 2^-50 of the whole, in double-double, differ by rounding here.
    const bool parts = end.parted - end.time <= last * larger(demands.tolerance, 0x1p-50);
    outcome.time_together = parts ? end.parted : end.time;
    // The first multiple of dt at which the twins have parted: the state that a method of fixed steps
    // reports.
    outcome.steps_together = whole_steps(outcome.time_together, p, parts);
    outcome.step_count = static_cast<std::int32_t>(end.attempts);
    outcome.quality =
        static_cast<std::int32_t>(parts || end.time >= last ? Quality::Complete : Quality::Stopped);
    set_watched(end.watch, demands.watch, end.time, outcome);
    move_to_body_1(end.center, end.x);
    move_to_body_1(end.center, end.v);
    set_state_fields<double>(p, absolute_system(p, end.x, end.v, end.time), outcome);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
