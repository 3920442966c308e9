// The outcome of one point, and its members that can be fields of a result.
#pragma once

#include <cstdint>

#include "nbody/problem.h"

namespace voltpile::nbody {

// Indexed by Field; all members of Outcome. outcome_fields.cpp describes them.
#define VOLTPILE_NBODY_FIELDS(USE) \
    USE(status)                    \
    USE(final_time)                \
    USE(final_state)               \
    USE(energy_error)              \
    USE(angular_momentum_error)    \
    USE(closest_approach)          \
    USE(closest_time)              \
    USE(closest_pair)              \
    USE(escaper)                   \
    USE(step_count)                \
    USE(steps_together)            \
    USE(time_together)             \
    USE(lyapunov_exponent)         \
    USE(megno)

struct Outcome {
    std::int32_t status = 0;                   // a Status
    double final_time = 0;                     // of the last state
    double final_state[6 * kMostBodies] = {};  // [body][x y z vx vy vz]
    double energy_error = 0;
    double angular_momentum_error = 0;
    double closest_approach = 0;
    double closest_time = 0;
    std::int32_t closest_pair = 0;  // as path.h numbers them
    std::int32_t escaper = 0;       // 1, 2, ...; 0: none
    std::int32_t step_count = 0;    // rejected ones included
    // Of a twin: the first state, after so many steps, at which it has parted, and the time when it did; the
    // last state if it did not.
    std::int32_t steps_together = 0;
    double time_together = 0;
    // Of a deviation (deviation.h); NaN if the point ended at its start.
    double lyapunov_exponent = 0;
    double megno = 0;
};

enum class Status : std::int32_t {
    End,           // dt * steps was reached
    Collision,     // two bodies came closer than stop.collision
    Escape,        // a body escaped
    MaxSteps,      // max_steps were spent before
    StepTooSmall,  // the tolerance cannot be met with steps that change the time
    NotFinite,     // the next state would be infinite or not a number
    Parted,        // a body and its twin were further apart than stop.separation
};

enum class Field : int {
#define VOLTPILE_ENUMERATOR(member) member,
    VOLTPILE_NBODY_FIELDS(VOLTPILE_ENUMERATOR)
#undef VOLTPILE_ENUMERATOR
};

// What a kernel knows when a point is decided.
struct PathEnd {
    Status status = Status::End;
    double time = 0;
    std::int32_t steps = 0;
    double x[3 * kMostBodies] = {}, v[3 * kMostBodies] = {};
    double closest_squared = 0, closest_time = 0, closest_pair = 0;
    double escaper = 0;
    std::int32_t steps_together = 0;
    double time_together = 0, lyapunov_exponent = 0, megno = 0;
};

Outcome outcome_of(const Problem& problem, std::int64_t point, const PathEnd& end);

}  // namespace voltpile::nbody
