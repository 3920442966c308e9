// The outcome of one pair, and its members that can be fields of a result. State s is the state after s
// steps.
#pragma once

#include <cstdint>

namespace voltpile::threebody {

// Indexed by Field; all members of Outcome. outcome_fields.cpp describes them.
#define VOLTPILE_THREEBODY_FIELDS(USE) \
    USE(steps_together)                \
    USE(time_together)                 \
    USE(energy_error)                  \
    USE(angular_momentum_error)        \
    USE(closest_approach)              \
    USE(closest_time)                  \
    USE(closest_pair)                  \
    USE(escaper)                       \
    USE(escape_time)                   \
    USE(lyapunov_exponent)             \
    USE(megno)                         \
    USE(final_state)                   \
    USE(step_count)                    \
    USE(quality)

struct Outcome {
    // The first state whose separation exceeds the limit (or is not a number), in 0 .. steps - 1; else
    // `steps`.
    std::int32_t steps_together = 0;
    // The time of that state; of an adaptive method the time at which the separation exceeds the limit, or
    // the end of the integration.
    double time_together = 0;
    // Of the first system, at the state steps_together: |E - E0| / |E0|.
    double energy_error = 0;
    // Of the first system, at the state steps_together: |L - L0| / (sum of m |r| |v|), all about the center
    // of mass.
    double angular_momentum_error = 0;
    // Smallest distance of any two bodies of the first system over the states 0 .. steps_together.
    double closest_approach = 0;
    double closest_time = 0;        // when that was
    std::int32_t closest_pair = 0;  // of which two: 0, 1 or 2, as in first_of()
    std::int32_t escaper = 0;       // which body of the first system has escaped (escape.h): 1, 2, 3; 0: none
    double escape_time = 0;         // the end of the first step at which that was certain; NaN: never
    double lyapunov_exponent =
        0;             // of the first system: the mean rate at which a deviation grows (deviation.h)
    double megno = 0;  // mean exponential growth factor of nearby orbits, itself averaged over time
    // [body][x y z vx vy vz] of the first system at the state steps_together.
    double final_state[18] = {};
    // Steps done; of an adaptive method steps attempted, the rejected ones included.
    std::int32_t step_count = 0;
    std::int32_t quality = 0;  // a Quality
};

enum class Quality : std::int32_t {
    Complete,  // the pair was followed until it parted or time was up
    Stopped,   // the budget of steps was spent before, or bodies collided: the outcome is of the last state
               // reached
};

enum class Field : int {
#define VOLTPILE_ENUMERATOR(member) member,
    VOLTPILE_THREEBODY_FIELDS(VOLTPILE_ENUMERATOR)
#undef VOLTPILE_ENUMERATOR
};

}  // namespace voltpile::threebody
