// The outcome of one point.
#pragma once

#include <cstdint>

namespace voltpile::ode {

inline constexpr int kMostOutputValues = 64;

struct Outcome {
    std::int32_t status = 0;  // a Status, or Status::FirstEvent and so on
    std::int32_t steps = 0;   // rejected ones included
    double t_final = 0;       // time of the state that the outputs belong to
    double lyapunov = 0;
    double outputs[kMostOutputValues] = {};
};

enum class Status : std::int32_t {
    End,           // t_end was reached
    MaxSteps,      // max_steps were spent before
    NotFinite,     // a state or an output would be infinite or not a number
    StepTooSmall,  // the tolerance cannot be met with steps that change the time
    FirstEvent,    // and so on, one for each event
};

}  // namespace voltpile::ode
