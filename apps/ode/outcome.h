// The outcome of one point.
#pragma once

#include <cstdint>

#include "sweep/select.h"

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

inline namespace VOLTPILE_TARGET {

// Returns the number, but of the many that are not a number always the same one.
VOLTPILE_HD double one_nan(double x) {
    return x == x ? x : number_of(std::uint64_t{0x7ff8000000000000});
}

// Marks an outcome whose outputs are not all finite. outputs: how many there are.
VOLTPILE_HD void complete(Outcome& outcome, int outputs) {
    double sum = outcome.lyapunov;
    VOLTPILE_UNROLL
    for (int i = 0; i < outputs; ++i) sum += outcome.outputs[i] * 0;
    if (!(sum * 0 == 0)) outcome.status = static_cast<std::int32_t>(Status::NotFinite);
    outcome.lyapunov = one_nan(outcome.lyapunov);
    VOLTPILE_UNROLL
    for (int i = 0; i < outputs; ++i) outcome.outputs[i] = one_nan(outcome.outputs[i]);
}

}  // namespace VOLTPILE_TARGET
}  // namespace voltpile::ode
