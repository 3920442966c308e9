// What a pair's fields need to know of its path besides its end. One code for GPU lanes and
// SIMD registers, as in adaptive_pair.h.
#pragma once

#include "threebody/deviation.h"
#include "threebody/encounter.h"
#include "threebody/escape.h"

namespace voltpile::threebody {
inline namespace VOLTPILE_TARGET {

// Which parts of PathWatch are kept up to date; the same for all points.
struct WatchDemands {
    bool encounters = false;
    bool escape = false;
    bool stop_at_escape = false;  // only with `escape`
    bool deviation = false;       // the twin is brought back near the first system after each step
};

VOLTPILE_HD WatchDemands watch_demands(const Problem& problem) {
    return {problem.want_closest_approach, problem.want_escape, problem.stop_at_escape,
            problem.want_deviation};
}

VOLTPILE_HD bool watches(const WatchDemands& demands) {
    return demands.encounters || demands.escape || demands.deviation;
}

// Parts that are not demanded are undefined. Consists of Reals only, so that code can index it as an array.
template <class Real>
struct PathWatch {
    Encounter<Real> closest;
    Escape<Real> escape;
    Deviation<Real> deviation;
};

inline constexpr int path_watch_numbers = sizeof(PathWatch<double>) / sizeof(double);

// Sets the watch to time 0. first, twin: with accelerations.
template <class Real>
VOLTPILE_HD void start_watch(PathWatch<Real>& watch, const WatchDemands& demands,
                             const RelativeMotion<Real>& first, const RelativeMotion<Real>& twin,
                             const PairConstants<Real>& constants) {
    if (demands.encounters) watch.closest = closest_at_start(first.x);
    if (demands.escape) watch.escape = no_escape(first, constants);
    if (demands.deviation) watch.deviation = no_growth(first, twin);
}

// Watches the first system's step of length h that begins at `time`. taken: 1, or 0 in lanes that do not take
// the step.
template <class Real>
VOLTPILE_HD void watch_step(PathWatch<Real>& watch, const WatchDemands& demands,
                            const RelativeMotion<Real>& from, const RelativeMotion<Real>& to, Real time,
                            Real h, Real taken) {
    if (demands.encounters) note_encounters(watch.closest, from, to, time, h, taken);
}

// Watches where a step of length h has ended, at `time`. twin: brought back if that is demanded. Returns 1 in
// lanes that need no more steps, else 0.
template <class Real>
VOLTPILE_HD Real watch_end(PathWatch<Real>& watch, const WatchDemands& demands,
                           const PairConstants<Real>& constants, const RelativeMotion<Real>& first,
                           RelativeMotion<Real>& twin, Real time, Real h, Real taken) {
    if (demands.deviation) note_deviation(watch.deviation, first, twin, time, h, taken);
    if (!demands.escape) return real<Real>(0);
    note_escape(watch.escape, first, time, taken, constants);
    if (!demands.stop_at_escape) return real<Real>(0);
    return select_below(watch.escape.time, real<Real>(__builtin_inf()), taken, real<Real>(0));
}

// For pairs whose path is not watched.
struct NoWatch {
    static constexpr bool watches = false;
};

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::threebody
